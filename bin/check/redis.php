<?php
/** The probes of Redis: a server, the primary that sentinels know, a cluster, or a ring. */
namespace TokenBucket\Command\Check;

use TokenBucket\OnFailure;
use TokenBucketStorageRedis;

/** The commands that a ConcurrencyLimit needs in addition to those of buckets. */
const PERMIT_COMMANDS = '+pexpire +zadd +zcard +zrangebyscore +zrem +zremrangebyscore +zscore';
/** Scripts. Their texts never change, because servers keep them until they restart. */
const TIME = "return redis.pcall('TIME')";
const DERIVED_TIME = "return redis.pcall('PEXPIRETIME', KEYS[1])";
/** Differs between servers. */
const SERVER = 'return tostring(redis.call)';
/** The keys on which it runs. */
const KEYS = 16;
/** The new connections on which it runs with one key. */
const CONNECTIONS = 8;

final class RedisStore implements Store
{
    use RedisServers;

    private readonly TokenBucketStorageRedis $storage;
    private readonly string $kind;
    /** The first address of a primary, or null for the only server. */
    private ?string $home = null;
    /** @var array<string, list<?string>> the keys that the probes wrote, with the addresses */
    private array $written = [];

    public function __construct(#[\SensitiveParameter] private readonly string $dsn, private readonly Settings $settings)
    {
        $this->storage = $this->storage();
        $this->kind = preg_match('~^rediss?\+(sentinel|cluster|ring):~i', $dsn, $found) ? strtolower($found[1]) : 'single';
    }

    public function probes(): array
    {
        $key = $this->settings->prefix . $this->settings->name;
        // The servers of a ring are independent, so each one is probed.
        $on = fn (\Closure $probe) => fn () => $this->kind === 'ring' ? $this->each(function (string $address) use ($probe, $key): Finding {
            $this->home = $address;
            return $probe($key);
        }) : $probe($key);
        return [
            ...match ($this->kind) {
                'sentinel' => ['sentinels' => $this->sentinels(...)],
                'cluster' => ['slots' => $this->slots(...), 'servers' => $this->members(...)],
                'ring' => ['servers' => $this->ring(...)],
                'single' => [],
            },
            'server' => $on($this->server(...)),
            'latency' => $on(fn () => latency(timed(fn () => $this->at($key, ['GET', $key]), $this->settings), $this->settings->timeout)),
            'rights' => $on($this->rights(...)),
            'scripts' => $on($this->scripts(...)),
            'time' => $on($this->time(...)),
            'clock' => $on($this->clock(...)),
            'expiry' => $on($this->expiry(...)),
            'bucket' => fn () => $this->bucket(),
            'permits' => fn () => $this->permits(),
            ...($this->kind === 'cluster' ? [] : ['proxy' => $on($this->proxy(...))]),
            'memory' => fn () => $this->each($this->memory(...)),
            'persistence' => fn () => $this->each($this->persistence(...)),
            'clients' => fn () => $this->each($this->clients(...)),
        ];
    }

    public function clean(): void
    {
        foreach ($this->written as $key => $homes) {
            foreach ($homes as $this->home) {
                try {
                    // The documented user may not delete, but may let a key expire.
                    [$deleted] = $this->at($key, ['DEL', $key]);
                    is_array($deleted) && $this->at($key, ['SET', $key, '', 'PX', '1']);
                } catch (Unanswered) {
                    // The key expires.
                }
            }
        }
    }

    private function storage(): TokenBucketStorageRedis
    {
        return new TokenBucketStorageRedis($this->dsn, $this->settings->prefix, $this->settings->patience(), OnFailure::Throw, false);
    }

    /** Sends commands to the server of a key, and returns their replies. */
    private function at(string $key, array ...$commands): array
    {
        $address = $this->home;
        for ($redirections = 0;; $redirections++) {
            $replies = $this->ask($address, ...$commands);
            $moved = preg_match('/^MOVED \d+ (.+):(\d+)$/', self::error($replies[0]), $to);
            if (!$moved || $this->kind !== 'cluster' || $redirections === 3) {
                return $replies;
            }
            $address = self::address($to[1], $to[2]);
        }
    }

    /** Does the same as at(), and deletes the key at the end. */
    private function writing(string $key, array ...$commands): array
    {
        $this->write($key, [$this->home]);
        return $this->at($key, ...$commands);
    }

    /** Notes a key that clean() deletes on these servers, or where the storage may have put it. */
    private function write(string $key, ?array $homes = null): void
    {
        $homes ??= $this->kind === 'ring' ? $this->primaries : [$this->home];
        $this->written[$key] = array_unique([...$this->written[$key] ?? [], ...$homes]);
    }

    private function ask(?string $address, array ...$commands): array
    {
        $replies = current($this->storage->sendCommands($commands, $this->settings->patience(), $address));
        return is_array($replies) ? $replies : throw new Unanswered($replies);
    }

    /** Returns the reply to a command that a user or a proxy may refuse, or null. */
    private function optional(?string $address, string ...$command): mixed
    {
        try {
            [$reply] = $this->ask($address, $command);
            return self::error($reply) === '' ? $reply : null;
        } catch (Unanswered) {
            // A proxy closes the connection after a command that it does not know.
            return null;
        }
    }

    /** Returns the server's text of an error, or an empty text for another reply. */
    private static function error(mixed $reply): string
    {
        return is_array($reply) && isset($reply['error']) ? preg_replace('/^it answered: /', '', $reply['error']) : '';
    }

    private static function address(string $host, string $port): string
    {
        return str_contains($host, ':') ? "[$host]:$port" : "$host:$port";
    }

    private function server(string $key): Finding
    {
        [$reply] = $this->at($key, ['GET', $key]);
        $user = $this->optional($this->home, 'ACL', 'WHOAMI');
        $info = $this->info($this->home, 'server');
        $version = $info['valkey_version'] ?? $info['redis_version'] ?? null;
        $found = ($version === null ? 'answers' : ($info['server_name'] ?? 'redis') . " $version") . ', user ' . ($user ?? 'not known');
        return match (true) {
            version_compare($info['redis_version'] ?? '6.0', '6.0', '<') => Finding::failure($found, 'Redis 6.0 or later is needed'),
            $this->kind !== 'cluster' && ($info['redis_mode'] ?? '') === 'cluster' && is_array($this->optional($this->home, 'CLUSTER', 'SLOTS')) => Finding::failure("$found, a server of a cluster", 'begin the DSN with redis+cluster:// or rediss+cluster://'),
            preg_match('/^(?!NOPERM)./', self::error($reply)) === 1 => Finding::failure(self::error($reply), 'follow the text of the server'),
            $version === null => Finding::warning("$found, INFO is refused", 'run the check once as a user with +info'),
            default => Finding::ok($found),
        };
    }

    /** Runs the commands of buckets, outside of scripts. */
    private function rights(string $key): Finding
    {
        $commands = [
            'set' => ['SET', $key, '', 'PX', '60000'], 'get' => ['GET', $key], 'pttl' => ['PTTL', $key],
            'eval' => ['EVAL', 'return 1', '1', $key], 'evalsha' => ['EVALSHA', bin2hex(random_bytes(20)), '1', $key],
        ];
        $errors = array_map(self::error(...), array_combine(array_keys($commands), $this->writing($key, ...array_values($commands))));
        $refused = array_filter($errors, fn (string $error) => str_starts_with($error, 'NOPERM'));
        $other = array_filter($errors, fn (string $error) => preg_match('/^(NOPERM|NOSCRIPT|$)/', $error) !== 1);
        $of_keys = array_filter($refused, fn (string $error) => preg_match('/access (a key|one of the keys)/i', $error) === 1);
        $missing = implode(' ', array_map(fn (string $name) => "+$name", array_keys(array_diff_key($refused, $of_keys))));
        return match (true) {
            $missing !== '' => Finding::failure("the user may not run $missing", "ACL SETUSER … $missing"),
            $of_keys !== [] => Finding::failure("the user may not use keys that begin with {$this->settings->prefix}", "ACL SETUSER … ~{$this->settings->prefix}*"),
            $other !== [] => Finding::failure(key($other) . ': ' . current($other), 'follow the text of the server'),
            default => Finding::ok('the user may run the commands of buckets on these keys'),
        };
    }

    private function scripts(string $key): Finding
    {
        [$reply] = $this->at($key, ['EVALSHA', bin2hex(random_bytes(20)), '1', $key]);
        return str_starts_with(self::error($reply), 'NOSCRIPT')
            ? Finding::ok('a script that the server does not have is refused with NOSCRIPT')
            : Finding::failure('a digest that was never loaded is answered with: ' . (self::error($reply) ?: json_encode($reply)), 'use a server or a proxy that supports EVALSHA');
    }

    private function time(string $key): Finding
    {
        [$time] = $this->writing($key, ['EVAL', TIME, '1', $key]);
        if (self::error($time) === '') {
            return Finding::ok('scripts may read the clock');
        }
        [$derived] = $this->at($key, ['EVAL', DERIVED_TIME, '1', $key]);
        $found = 'scripts may not run TIME: ' . self::error($time);
        return self::error($derived) === ''
            ? Finding::warning($found, 'ACL SETUSER … +time, or accept a clock of milliseconds')
            : Finding::failure($found, 'ACL SETUSER … +time; if the service refuses it, Redis 7 with +pexpiretime +pexpire +persist +del');
    }

    private function clock(string $key): Finding
    {
        $before = microtime(true);
        [$time] = $this->at($key, ['EVAL', TIME, '1', $key]);
        $after = microtime(true);
        if (self::error($time) !== '') {
            return Finding::warning('the clock is not known, because scripts may not run TIME', 'see time');
        }
        [$seconds, $micros] = $time;
        return $seconds < 1e9
            ? Finding::failure("the clock of the server is at $seconds s", 'set the clock of the server, because every call fails before the year 2002')
            : clock($before, $seconds + $micros / 1e6, $after, 1e-6, 'synchronise the clocks, because quotas of short windows fail');
    }

    /** Writes a life that is no whole second, and reads it back. */
    private function expiry(string $key): Finding
    {
        $before = microtime(true);
        $replies = $this->writing($key, ['SET', $key, '1', 'PX', '60500'], ['PTTL', $key], ['SET', $key, '2', 'KEEPTTL'], ['PTTL', $key]);
        $passed = (int) ceil(1e3 * (microtime(true) - $before)) + 1;
        $errors = array_filter(array_map(self::error(...), $replies));
        $is_exact = fn (mixed $left): bool => is_int($left) && $left <= 60_500 && $left >= 60_500 - $passed;
        return match (true) {
            $errors !== [] => Finding::failure(current($errors), 'follow the text of the server'),
            !$is_exact($replies[1]), !$is_exact($replies[3]) => Finding::failure("of 60500 ms, PTTL has {$replies[1]} after PX and {$replies[3]} after KEEPTTL", 'use a server that keeps milliseconds'),
            default => Finding::ok('PX, KEEPTTL and PTTL keep the millisecond'),
        };
    }

    private function bucket(): Finding
    {
        $name = "{$this->settings->name}-bucket";
        $this->write($this->settings->prefix . $name);
        return decisions($this->storage(), $name);
    }

    private function permits(): Finding
    {
        $limit = new \TokenBucket\ConcurrencyLimit($this->storage(), "{$this->settings->name}-permits", 1, 60.0);
        $this->write("{$this->settings->prefix}{$this->settings->name}-permits~permits");
        try {
            [$first, $second] = [$limit->acquire(), $limit->acquire()];
            $first->release();
        } catch (\TokenBucket\StorageException $refused) {
            return Finding::warning($refused->getMessage(), 'if you use a ConcurrencyLimit: ACL SETUSER … ' . PERMIT_COMMANDS);
        }
        return $first->decision->allowed && !$second->decision->allowed
            ? Finding::ok('a ConcurrencyLimit of one grants one permit')
            : Finding::failure('a ConcurrencyLimit of one grants two permits or none', 'do not keep permits on this server');
    }

    /**
     * Asks whether the server is a Redis, as the extension does before a call on several keys.
     * Finds a balancer of connections, behind which each server has buckets of its own.
     */
    private function proxy(string $key): Finding
    {
        // With some hashes, neighbouring names would have one server.
        $on_keys = array_map(fn () => ['EVAL', SERVER, '1', "$key-" . bin2hex(random_bytes(8))], range(1, KEYS));
        $stated = preg_match('/[?&]one_server=([01])/', $this->dsn, $found) ? $found[1] : null;
        try {
            [$hello, $time] = $replies = $this->ask($this->home, ['HELLO', '2'], ['TIME'], ...$on_keys);
            // A connection is closed after HELLO.
            $reached = array_map(fn () => $this->ask($this->home, ['HELLO', '2'], ['EVAL', SERVER, '1', $key], ['INFO', 'replication']), range(1, CONNECTIONS));
        } catch (Unanswered) {
            // Some proxies close the connection after a command that they do not know.
            [$hello, $time] = $replies = [null, null, null];
            $reached = [];
        }
        $count = count(array_unique(array_column($reached, 1), SORT_REGULAR));
        // A primary and its replicas have the same one.
        $histories = array_map(fn (mixed $info) => preg_match('/^master_replid:(\w+)/m', is_string($info) ? $info : '', $found) ? $found[1] : '', array_column($reached, 2));
        $servers = array_slice($replies, 2);
        // A Redis numbers its connections from 1. Envoy replies 0, or no number.
        $id = is_array($hello) && self::error($hello) === '' ? array_column(array_chunk($hello, 2), 1, 0)['id'] ?? null : null;
        $is_redis = is_int($id) && $id > 0 && is_array($time) && preg_match('/^(NOPERM|$)/', self::error($time)) === 1;
        return match (true) {
            self::error($servers[0]) !== '' => Finding::failure(self::error($servers[0]), 'follow the text of the server'),
            $count > 1 && ($histories[0] === '' || count(array_unique($histories)) > 1) => Finding::failure("new connections reach $count servers", 'name one server, or a primary by its sentinels, because each server grants the whole limit'),
            $stated !== null => Finding::ok('the DSN states ' . ($stated ? 'that all keys are on one server' : 'that a proxy spreads the keys')),
            count(array_unique($servers, SORT_REGULAR)) > 1 => Finding::warning('keys are on several servers, as behind a proxy that places a script by its first key', 'limits hold, but attemptAll() checks and charges one bucket after another'),
            $is_redis => Finding::ok('the server is a Redis, so a script finds all its keys'),
            default => Finding::warning('the server does not answer HELLO and TIME as a Redis does, so that a proxy may place a script by its first key', 'limits hold, but attemptAll() checks and charges one bucket after another; if all keys are on one server, add one_server=1 to the DSN'),
        };
    }
}
