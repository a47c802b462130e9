<?php
require_once __DIR__ . '/server_process.php';
require_once __DIR__ . '/wait_for.php';

/** A timeout in seconds that a working server meets, however busy the machine is. */
const PATIENCE = 30.0;

/** A $denialCacheMaxAge in seconds that no cached denial of a test reaches. */
const LASTING = 3600.0;

/** A Redis without persistence, on a port of 127.0.0.1 and a Unix socket. */
class RedisServer extends ServerProcess
{
    /** @param list<string> $options as on its command line */
    final protected function __construct(protected readonly string $program, protected readonly array $options)
    {
        parent::__construct(true, 'redis.sock');
    }

    /** Starts the program in REDIS_SERVER, or the redis-server in PATH. */
    public static function start(array $options = []): static
    {
        return new static(getenv('REDIS_SERVER') ?: 'redis-server', $options);
    }

    /** Returns the major version of the program, also if that is a Valkey. */
    public static function major_version(): int
    {
        $program = escapeshellarg(getenv('REDIS_SERVER') ?: 'redis-server');
        return (int) substr(strstr((string) shell_exec("$program --version 2>/dev/null"), 'v='), 2);
    }

    /** Returns the value of an option that the server was started with. */
    public function option(string $name): string
    {
        return $this->options[array_search($name, $this->options, true) + 1];
    }

    /**
     * Sends a command and returns the reply: null, an int, a string, or an array of these. Throws a
     * RuntimeException if the reply is an error.
     */
    public function command(string ...$words): mixed
    {
        $stream = stream_socket_client("unix://$this->socket", $code, $error, PATIENCE)
            ?: throw new RuntimeException($error);
        stream_set_timeout($stream, (int) PATIENCE);
        if (in_array('--requirepass', $this->options, true)) {
            self::exchange($stream, ['AUTH', $this->option('--requirepass')]);
        }
        return self::exchange($stream, $words);
    }

    protected function arguments(int $port): array
    {
        return [
            $this->program, '--port', (string) $port, '--bind', '127.0.0.1', '--dir', $this->folder,
            '--unixsocket', $this->socket, '--unixsocketperm', '777', '--save', '', '--appendonly', 'no',
            '--daemonize', 'no', '--loglevel', 'warning', ...$this->options,
        ];
    }

    protected function answers(int $port): bool
    {
        // Redis opens its port before its socket.
        $stream = @stream_socket_client("unix://$this->socket");
        if ($stream === false) {
            return false;
        }
        stream_set_timeout($stream, (int) PATIENCE);
        fwrite($stream, "PING\r\n");
        return preg_match('/^(\+PONG|-NOAUTH)/', (string) fgets($stream)) === 1;
    }

    private static function exchange($stream, array $words): mixed
    {
        $request = '*' . count($words) . "\r\n";
        foreach ($words as $word) {
            $request .= '$' . strlen($word) . "\r\n$word\r\n";
        }
        fwrite($stream, $request);
        return self::reply($stream);
    }

    private static function reply($stream): mixed
    {
        $line = rtrim((string) fgets($stream), "\r\n");
        $rest = substr($line, 1);
        switch ($line[0] ?? '') {
            case '+':
                return $rest;
            case ':':
                return (int) $rest;
            case '$':
                return $rest === '-1' ? null : substr(stream_get_contents($stream, $rest + 2), 0, -2);
            case '*':
                $elements = [];
                for ($i = 0; $i < (int) $rest; $i++) {
                    $elements[] = self::reply($stream);
                }
                return $elements;
            default:
                throw new RuntimeException($line === '' ? 'no reply' : $rest);
        }
    }
}

/** A sentinel, which promotes a replica when it cannot reach the primary. */
final class SentinelServer extends RedisServer
{
    /** The name under which the sentinels know the primary. */
    public const PRIMARY = 'mymaster';

    /**
     * Starts a sentinel. Two sentinels must agree that a primary is down.
     *
     * @param int $down_after the milliseconds without a reply after which a server counts as down
     */
    public static function of(RedisServer $primary, int $down_after): static
    {
        $name = self::PRIMARY;
        return self::start([
            "sentinel monitor $name 127.0.0.1 $primary->port 2",
            "sentinel down-after-milliseconds $name $down_after",
            "sentinel failover-timeout $name 3000",
        ]);
    }

    /** Returns the port of the server that the sentinel counts as the primary. */
    public function primary(): int
    {
        return (int) $this->command('SENTINEL', 'get-master-addr-by-name', self::PRIMARY)[1];
    }

    protected function arguments(int $port): array
    {
        // The sentinel rewrites its file, and reads it again after a restart.
        $file = "$this->folder/sentinel.conf";
        if (!is_file($file)) {
            $lines = ["port $port", 'bind 127.0.0.1', "dir $this->folder", "unixsocket $this->socket", 'unixsocketperm 777'];
            file_put_contents($file, implode("\n", [...$lines, ...$this->options]) . "\n");
            chmod($file, 0666);
        }
        return [$this->program, $file, '--sentinel'];
    }
}

/** A memcached on a port of 127.0.0.1 or on a Unix socket. memcached cannot listen on both. */
final class MemcachedServer extends ServerProcess
{
    /** @param list<string> $options as on its command line */
    private function __construct(private readonly array $options, private readonly bool $tcp)
    {
        parent::__construct($tcp, $tcp ? '' : 'memcached.sock');
    }

    public static function startTcp(array $options = []): self
    {
        return new self($options, true);
    }

    public static function startUnix(array $options = []): self
    {
        return new self($options, false);
    }

    /** @return array<string, string> the server's counters by name, for example cmd_get */
    public function stats(): array
    {
        $stats = [];
        foreach ($this->command('stats', 'END') as $line) {
            [, $name, $value] = explode(' ', $line, 3);
            $stats[$name] = $value;
        }
        return $stats;
    }

    /** @return list<string> the reply to a command of the text protocol, without its last line */
    public function command(string $command, string $last): array
    {
        return self::exchange($this->address($this->port), $command, $last);
    }

    private static function exchange(string $address, string $command, string $last): array
    {
        $stream = @stream_socket_client($address, $code, $error, PATIENCE)
            ?: throw new RuntimeException($error);
        stream_set_timeout($stream, (int) PATIENCE);
        fwrite($stream, "$command\r\n");
        $lines = [];
        while (($line = fgets($stream)) !== false) {
            if (rtrim($line) === $last) {
                return $lines;
            }
            $lines[] = rtrim($line);
        }
        throw new RuntimeException("no $last after: " . implode(', ', $lines));
    }

    protected function arguments(int $port): array
    {
        $listener = $this->tcp ? ['-l', '127.0.0.1', '-p', (string) $port] : ['-s', $this->socket, '-a', '777'];
        return ['memcached', ...$listener, '-U', '0', '-m', '64', ...$this->options];
    }

    protected function answers(int $port): bool
    {
        try {
            return self::exchange($this->address($port), 'stats', 'END')[0] === "STAT pid $this->pid";
        } catch (RuntimeException) {
            return false;
        }
    }

    private function address(int $port): string
    {
        return $this->tcp ? "tcp://127.0.0.1:$port" : "unix://$this->socket";
    }
}
