<?php
/** Runs the PHP blocks of Markdown documents, and compares their output with the document. */
require_once __DIR__ . '/child.php';
require_once __DIR__ . '/servers.php';
require_once __DIR__ . '/sql_servers.php';

/**
 * A PHP block of a document.
 *
 * An HTML comment "run: CODE" above a block contains code that runs before the block. "run:
 * continue" and "run: continue; CODE" run the previous block first. An "output" block below the PHP
 * block contains the expected output. Without an "output" block, the expected output is empty.
 */
final class PhpBlock
{
    private const PATTERN = '/(?:^<!-- run: (?<setup>(?:(?!-->).)*) -->\s*\n)?'
        . '^```php\n(?<code>.*?)^```\n(?:\s*^```output\n(?<output>.*?)^```\n)?/ms';
    /**
     * Creates a storage. Replaces its timeout, the third argument, by one that no reply exceeds.
     */
    private const PATIENT = <<<'PHP'
        function patient(string $class, mixed ...$arguments): object
        {
            $arguments[isset($arguments[2]) ? 2 : 'timeout'] = 60.0;
            return new $class(...$arguments);
        }
        PHP;
    private const FAULT = '/^(PHP )?(Warning|Notice|Deprecated|Fatal error|Parse error): /m';

    private function __construct(
        public readonly int $line,
        private readonly string $before,
        private readonly string $code,
        private readonly string $output,
    ) {
    }

    /** @return list<self> */
    public static function all(string $markdown): array
    {
        // Blocks in lists are indented.
        $markdown = preg_replace_callback(
            '/^( +)(<!-- run:.*?-->|```.*?^ +```)$/ms',
            fn ($match) => preg_replace("/^$match[1]/m", '', $match[0]),
            "$markdown\n"
        );
        preg_match_all(self::PATTERN, $markdown, $found, PREG_SET_ORDER | PREG_OFFSET_CAPTURE);
        $blocks = [];
        foreach ($found as $match) {
            $code = preg_replace('/^\s*<\?php\s/', '', $match['code'][0]);
            $setup = trim($match['setup'][0] ?? '');
            $before = $setup;
            if (preg_match('/^continue\b;?/', $setup, $continue)) {
                $last = end($blocks) ?: throw new RuntimeException('The first block continues nothing');
                $before = "$last->before\nob_start();\n$last->code\nob_end_clean();\n" . substr($setup, strlen($continue[0]));
            }
            $line = substr_count($markdown, "\n", 0, $match['code'][1]);
            $blocks[] = new self($line, $before, $code, $match['output'][0] ?? '');
        }
        count($blocks) === preg_match_all('/^```php\b/m', $markdown) || throw new RuntimeException('A block is not closed');
        return $blocks;
    }

    public function contains(string $text): bool
    {
        return str_contains("$this->before\n$this->code", $text);
    }

    /**
     * Runs the block in a separate php. Returns the output if it is wrong, otherwise null.
     *
     * @param array<string, string> $replace the addresses to use, by the name in the document
     */
    public function run(array $replace): ?string
    {
        $strict = 'declare(strict_types=1);';
        $code = "$this->before\n$this->code";
        $code = str_contains($code, $strict) ? $strict . str_replace($strict, '', $code) : $code;
        // On a busy machine, a reply may take longer than the timeout in the document.
        $code = preg_replace('/\bnew \\\\?(TokenBucketStorage(?:Redis|Memcached))\(/', "patient('$1', ", $code, -1, $storages);
        if ($storages > 0) {
            $code .= "\n" . self::PATIENT;
        }
        $file = tempnam(sys_get_temp_dir(), 'tokenbucket-block-');
        file_put_contents($file, '<?php ' . strtr($code, $replace));
        $environment = ['REMOTE_ADDR' => '192.0.2.1', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/'];
        foreach ($environment as $name => $value) {
            putenv("$name=$value");
        }
        $printed = self::trimmed(php_run_file($file, ['variables_order' => 'EGPCS', 'apc.enable_cli' => '1', 'error_log' => '/dev/null']));
        unlink($file);
        $expected = preg_quote(self::trimmed($this->output), '/');
        $expected = strtr($expected, ['%d' => '[+-]?\d+', '%f' => '[+-]?\d+(\.\d+)?([eE][+-]?\d+)?', '%s' => '[^\n]+', '%A' => '.*']);
        $is_right = preg_match("/^$expected$/sD", $printed) === 1;
        return $is_right && !preg_match(self::FAULT, $printed) ? null : $printed;
    }

    private static function trimmed(string $text): string
    {
        return trim(preg_replace('/[ \t]+$/m', '', $text), "\n");
    }
}

/** The servers that documents name. A server is started when a block first names it. */
final class DocumentServers
{
    /** Keeps the servers alive while this object exists. */
    private array $servers = [];
    private array $replace = [];

    /** @return array<string, string> */
    public function replacements(PhpBlock $block): array
    {
        foreach (['redis.example', 'cache1.example', 'cache2.example', 'mysql:host=db.example', 'pgsql:host=db.example'] as $name) {
            if (!isset($this->servers[$name]) && $block->contains($name)) {
                $this->start($name);
            }
        }
        if ($block->contains('/var/lib/app/limits.sqlite')) {
            $this->replace['/var/lib/app/limits.sqlite'] = ($this->servers['sqlite'] ??= SqliteFile::start())->path;
        }
        return $this->replace;
    }

    private function start(string $name): void
    {
        switch ($name) {
            case 'redis.example':
                $server = RedisServer::start();
                $commands = ['+eval', '+evalsha', '+get', '+set', '+pttl', '+time', '+select', '+auth', '+ping'];
                // A document lists more commands for concurrency limits.
                array_push($commands, '+pexpire', '+zadd', '+zcard', '+zrangebyscore', '+zrem', '+zremrangebyscore', '+zscore');
                $server->command('ACL', 'SETUSER', 'limiter', 'on', '>secret', '~tokenbucket:*', '-@all', ...$commands);
                $this->address($name, 6379, $server->port);
                break;
            case 'cache1.example':
            case 'cache2.example':
                $server = MemcachedServer::startTcp();
                $this->address($name, 11211, $server->port);
                break;
            case 'mysql:host=db.example':
                $server = MariaDbServer::start();
                $server->connect()->exec("GRANT ALL ON test.* TO app@localhost IDENTIFIED BY 'secret'");
                $this->replace["$name;dbname=app"] = $server->dsn();
                break;
            case 'pgsql:host=db.example':
                $server = PostgreSqlServer::start();
                $server->connect()->exec('CREATE ROLE app LOGIN SUPERUSER');
                $this->replace["$name;dbname=app"] = $server->dsn();
        }
        $this->servers[$name] = $server;
    }

    /** Adds the replacements of a host, with or without its default port, in URLs and arguments. */
    private function address(string $name, int $default, int $port): void
    {
        $this->replace += [
            "$name:$default" => "127.0.0.1:$port", "'$name', $default" => "'127.0.0.1', $port", $name => "127.0.0.1:$port",
        ];
    }
}

/** Runs the PHP blocks of documents. Prints the output of each block whose output is wrong. */
function run_documents(string ...$paths): void
{
    $servers = new DocumentServers();
    foreach ($paths as $path) {
        $root = dirname(__DIR__, 3);
        foreach (PhpBlock::all(file_get_contents($path)) as $block) {
            $printed = $block->run($servers->replacements($block));
            if ($printed !== null) {
                echo str_replace("$root/", '', $path), ":$block->line prints:\n$printed\n\n";
            }
        }
    }
}
