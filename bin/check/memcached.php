<?php
/** The probes of memcached servers. */
namespace TokenBucket\Command\Check;

use TokenBucket\OnFailure;
use TokenBucketStorageMemcached;

final class MemcachedStore implements Store
{
    private readonly TokenBucketStorageMemcached $storage;
    /** @var array<string, string> the address of each server's socket, by its name in the DSN */
    private array $servers = [];
    /** @var array<string, resource> */
    private array $streams = [];

    public function __construct(#[\SensitiveParameter] string $dsn, private readonly Settings $settings)
    {
        $list = preg_replace('~^memcached:(//)?~i', '', $dsn);
        $this->storage = new TokenBucketStorageMemcached($list, $settings->prefix, $settings->patience(), OnFailure::Throw, false);
        foreach (explode(',', $list) as $server) {
            $server = preg_replace('/\?.*$/', '', trim($server));
            $this->servers[$server] = match (true) {
                str_starts_with($server, 'unix://') => $server,
                preg_match('/:\d+$/', $server) === 1 => "tcp://$server",
                default => "tcp://$server:11211",
            };
        }
    }

    public function probes(): array
    {
        return [
            'server' => fn () => $this->each($this->server(...)),
            'latency' => fn () => $this->each(fn (string $server) => latency(timed(fn () => $this->line($server, 'mn'), $this->settings), $this->settings->timeout)),
            'cas' => fn () => $this->each($this->cas(...)),
            'bucket' => fn () => decisions($this->storage, "{$this->settings->name}-bucket"),
            'clock' => fn () => $this->each($this->clock(...)),
            'memory' => fn () => $this->each($this->memory(...)),
            'clients' => fn () => $this->each($this->clients(...)),
        ];
    }

    public function clean(): void
    {
        foreach (array_keys($this->servers) as $server) {
            foreach (['', '-bucket'] as $end) {
                try {
                    $this->line($server, "md {$this->settings->prefix}{$this->settings->name}$end");
                } catch (Unanswered) {
                    // The item expires.
                }
            }
        }
    }

    private function each(\Closure $probe): Finding
    {
        return Finding::each(array_keys($this->servers), $probe);
    }

    /** Sends a command, and returns the first line of the reply. */
    private function line(string $server, string $command): string
    {
        $patience = $this->settings->patience();
        $stream = $this->streams[$server] ??= @stream_socket_client($this->servers[$server], $code, $error, $patience)
            ?: throw new Unanswered("$server: cannot connect: $error");
        stream_set_timeout($stream, (int) $patience, (int) (fmod($patience, 1) * 1e6));
        $line = @fwrite($stream, "$command\r\n") === false ? false : fgets($stream);
        if ($line === false) {
            unset($this->streams[$server]);
            throw new Unanswered("$server: " . (stream_get_meta_data($stream)['timed_out'] ? 'no reply within the timeout' : 'the connection broke'));
        }
        return rtrim($line, "\r\n");
    }

    /** @return array<string, string> the fields of the reply to `stats` */
    private function stats(string $server, string $command = 'stats'): array
    {
        for ($line = $this->line($server, $command); preg_match('/^STAT (\S+) (.*)$/', $line, $field) === 1; $line = rtrim((string) fgets($this->streams[$server]), "\r\n")) {
            $stats[$field[1]] = $field[2];
        }
        return $stats ?? [];
    }

    private function server(string $server): Finding
    {
        $version = preg_match('/^VERSION (\S+)/', $this->line($server, 'version'), $found) ? $found[1] : null;
        try {
            $reply = $this->line($server, 'mn');
        } catch (Unanswered $unanswered) {
            $reply = $unanswered->getMessage();
        }
        return match (true) {
            $version === null => Finding::failure('the reply is not one of memcached', 'correct the address'),
            version_compare($version, '1.6.10', '<') => Finding::failure("memcached $version", 'memcached 1.6.10 or later is needed'),
            $reply !== 'MN' => Finding::failure("memcached $version does not answer a meta command: $reply", 'name the servers instead of a proxy such as twemproxy, which closes the connection'),
            default => Finding::ok("memcached $version"),
        };
    }

    /** Writes an item, and then tries to replace a version of it that it never had. */
    private function cas(string $server): Finding
    {
        $key = $this->settings->prefix . $this->settings->name;
        $written = $this->line($server, "ms $key 1 T60 c\r\n1");
        $stale = preg_match('/^HD c(\d+)$/', $written, $cas) ? $this->line($server, "ms $key 1 T60 C" . $cas[1] + 1 . "\r\n2") : '';
        return match (true) {
            ($cas[1] ?? '0') === '0' => Finding::failure("an item has no version: $written", 'start memcached without -C, or without the proxy in front of it'),
            $stale === 'EX' => Finding::ok('an item that has changed is not replaced'),
            default => Finding::failure("a version that never was is answered with: $stale", 'use a server that compares versions'),
        };
    }

    private function clock(string $server): Finding
    {
        $before = microtime(true);
        $time = $this->stats($server)['time'] ?? null;
        return $time === null
            ? Finding::warning('the clock is not known', 'synchronise the clocks of all hosts')
            // The server counts whole seconds from its start, and late if it is busy.
            : clock($before, $time - 1.0, microtime(true), 4.0, 'synchronise the clocks of all hosts, because hosts decide by their own clocks');
    }

    private function memory(string $server): Finding
    {
        $stats = $this->stats($server);
        $found = sprintf('%d of %d bytes used, %d evictions', $stats['bytes'] ?? 0, $stats['limit_maxbytes'] ?? 0, $stats['evictions'] ?? 0);
        return ($stats['evictions'] ?? 0) > 0
            ? Finding::warning($found, 'raise -m, because an evicted bucket is full')
            : Finding::ok($found);
    }

    private function clients(string $server): Finding
    {
        $stats = $this->stats($server) + $this->stats($server, 'stats settings');
        return isset($stats['maxconns'])
            ? connections((int) $stats['maxconns'], (int) $stats['curr_connections'], $this->settings->pool, 'raise -c, or run fewer workers')
            : Finding::warning('the most connections are not known', 'compare -c with your workers');
    }
}
