<?php
require_once __DIR__ . '/../../tools/testkit/php/fpm.php';
require_once __DIR__ . '/../../tools/testkit/php/nginx.php';

/** A php-fpm behind nginx with examples/status.php, and with a script that takes tokens. */
final class Site
{
    /** Takes a token for each identifier in the query. A bucket has five tokens. */
    private const LIMITED = <<<'PHP'
        <?php
        foreach ((array) ($_GET['id'] ?? 'x') as $identifier) {
            $storage = new TokenBucketStorageSharedMemory($_GET['namespace'] ?? 'login');
            echo (new TokenBucket($storage, $identifier, 5, 0.001))->consume() ? '+' : '-';
        }
        PHP;

    public readonly string $url;
    private readonly Nginx $nginx;
    private readonly Fpm $fpm;
    private readonly string $status;

    /** @param array<string, string> $ini */
    public function __construct(array $ini = [])
    {
        $this->fpm = new Fpm(['www' => ['listen.mode' => '0666']], $ini);
        $this->fpm->script('limited', self::LIMITED);
        $this->status = $this->fpm->script('raw', '<?php echo serialize(TokenBucket\status());');
        $this->nginx = new Nginx($this->fpm);
        $this->url = "http://127.0.0.1:{$this->nginx->port}";
    }

    /**
     * Adds the page under a name, and returns its URL. Replaces pieces of its code, each of which
     * must be in the code. The page measures rates for a moment only.
     *
     * @param array<string, string> $replace
     */
    public function page(string $name, array $replace): string
    {
        $code = file_get_contents(__DIR__ . '/../../examples/status.php');
        foreach ($replace + ['SAMPLE = 1' => 'SAMPLE = 0.01'] as $piece => $by) {
            str_contains($code, $piece) || throw new LogicException("not in the page: $piece");
            $code = str_replace($piece, $by, $code);
        }
        $this->fpm->script($name, $code);
        return "$this->url/$name";
    }

    /** Adds the page for all requests from 127.0.0.1. */
    public function open_page(array $replace = []): string
    {
        return $this->page('status', ['ALLOWED_ADDRESSES = []' => "ALLOWED_ADDRESSES = ['127.0.0.1']", ...$replace]);
    }

    /** Adds a script of a test. */
    public function script(string $name, string $code): void
    {
        $this->fpm->script($name, $code);
    }

    /**
     * Sends a request.
     *
     * @param list<string> $headers
     * @param string $from the client's address, in 127.0.0.0/8
     * @return array{int, string, string} the status, the headers and the body
     */
    public function get(string $path, array $headers = [], string $from = '127.0.0.1'): array
    {
        $context = stream_context_create([
            'http' => ['ignore_errors' => true, 'timeout' => 60, 'protocol_version' => 1.1, 'header' => [...$headers, 'Connection: close']],
            'socket' => ['bindto' => "$from:0"],
        ]);
        $stream = fopen("$this->url/$path", 'r', false, $context);
        $lines = stream_get_meta_data($stream)['wrapper_data'];
        return [(int) explode(' ', $lines[0])[1], implode("\n", $lines), stream_get_contents($stream)];
    }

    /** Tries to take $times tokens. Each identifier gets at most five. */
    public function take(int $times, string $identifier, string $namespace = 'login'): void
    {
        foreach (array_chunk(array_fill(0, $times, $identifier), 100) as $identifiers) {
            $this->get('limited?' . http_build_query(['id' => $identifiers, 'namespace' => $namespace]));
        }
    }

    /** Returns TokenBucket\status() of the php-fpm. */
    public function status(): array
    {
        return unserialize($this->fpm->get($this->status));
    }

    public function log(): string
    {
        return $this->fpm->log();
    }
}
