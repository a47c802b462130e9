<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use BuiltInServer;

require_once __DIR__ . '/../../../tools/testkit/php/built_in.php';

/** A server that counts the requests of each path, and denies after a limit of its own. */
final class PeerServer
{
    /**
     * /ok              replies 200
     * /limited?limit=5&after=60  replies 429 after so many requests of this path
     * /flaky?times=2   replies 503 to so many requests of this path
     * /redirect?times=2          redirects so many times
     * /reply?status=403&fields[]=…&length=9   replies with header lines, and breaks a body of this
     *                  length off
     */
    private const SCRIPT = <<<'PHP'
        <?php
        $path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
        $requests = (int) @file_get_contents(__DIR__ . '/count' . strtr($path, '/', '-')) + 1;
        file_put_contents(__DIR__ . '/count' . strtr($path, '/', '-'), $requests);
        file_put_contents(__DIR__ . '/instants' . strtr($path, '/', '-'), hrtime(true) . "\n", FILE_APPEND);
        $query = $_GET + ['limit' => 0, 'times' => 0, 'after' => 60, 'fields' => [], 'status' => 200];
        switch (explode('/', $path)[1]) {
            case 'limited':
                if ($requests > $query['limit']) {
                    http_response_code(429);
                    header("Retry-After: $query[after]");
                }
                break;
            case 'flaky':
                http_response_code($requests > $query['times'] ? 200 : 503);
                break;
            case 'redirect':
                $query['times'] > 0 && header('Location: /redirect?times=' . $query['times'] - 1);
                break;
            case 'reply':
                http_response_code((int) $query['status']);
                foreach ($query['fields'] as $field) {
                    header($field, false);
                }
                isset($query['length']) && header("Content-Length: $query[length]");
                break;
        }
        echo 'body';
        PHP;

    private readonly BuiltInServer $server;
    public readonly string $url;

    public function __construct()
    {
        $this->server = new BuiltInServer([], self::SCRIPT);
        $this->url = "http://127.0.0.1:{$this->server->port}";
    }

    public function stop(): void
    {
        $this->server->kill();
        exec('rm -rf ' . escapeshellarg($this->server->folder));
    }

    /** Returns the number of requests of a path. */
    public function requests(string $path): int
    {
        return count($this->instants($path));
    }

    /** @return list<int> the instants of hrtime() at which the requests of a path arrived */
    public function instants(string $path): array
    {
        return array_map(intval(...), @file($this->server->folder . '/instants' . strtr($path, '/', '-')) ?: []);
    }

    /**
     * Returns the URL of a reply.
     *
     * @param list<string> $fields header lines
     */
    public function reply(int $status, array $fields = [], ?int $length = null): string
    {
        return "$this->url/reply?" . http_build_query(['status' => $status, 'fields' => $fields, 'length' => $length]);
    }
}
