<?php
/**
 * Limiters in one home each, ours and others': how an application would make them, and the expression by which it
 * asks for one token.
 */
require __DIR__ . '/peers.inc.php';
require_once __DIR__ . '/../php-tests/child.inc.php';
require __DIR__ . '/../php-tests/servers.inc.php';
require __DIR__ . '/../php-tests/sql_servers.inc.php';

use Illuminate\Cache\ApcStore;
use Illuminate\Cache\ApcWrapper;
use Illuminate\Cache\RedisStore as LaravelRedisStore;
use Illuminate\Redis\Limiters\DurationLimiter;
use Symfony\Component\Cache\Adapter\ApcuAdapter;
use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Lock\Store\FlockStore;
use Symfony\Component\Lock\Store\RedisStore as RedisLockStore;
use Symfony\Component\Lock\Store\SemaphoreStore;

/** Seconds: what is measured is no outage. */
const PATIENCE = 5.0;
/** A thousand million tokens: never empty here. */
const MUCH = 1_000_000_000;
/** Seconds for a token, of which none comes back here. */
const NEVER = 1_000_000;

/** One way to limit. */
final class Limiter
{
    /**
     * @param string $take asks $limiter for one token; true where it is granted
     * @param Closure(string, int, int): object $make the $limiter of an identifier, a capacity, and seconds a token
     */
    public function __construct(
        public readonly string $name,
        public readonly string $take,
        private readonly Closure $make,
    ) {
    }

    /** With a client of its own, for the process that calls this. */
    public function make(string $identifier, int $capacity, int $seconds): object
    {
        return ($this->make)($identifier, $capacity, $seconds);
    }

    /** @return Closure(): bool what asks that $limiter for one token */
    public function asking(object $limiter): Closure
    {
        return eval("return static fn (): bool => $this->take;");
    }

    /** One of a few tokens that has none left: what it is for, and no figure is worth anything if it does not. */
    public function exhausted(): object
    {
        $limiter = $this->make(fresh('exhausted'), 2, NEVER);
        $ask = $this->asking($limiter);
        must($ask(), "$this->name denies at once");
        // A bucket of two may give one, or three.
        for ($i = 0; $i < 3 && $ask(); $i++) {
        }
        must(!$ask(), "$this->name does not limit");
        return $limiter;
    }
}

/** A name that no earlier run has left a lock or a record for. */
function fresh(string $what): string
{
    static $count = 0;
    return sprintf('%s-%d-%d-%d', $what, getmypid(), hrtime(true) % 1_000_000_000, ++$count);
}

/** Ours, in a storage. */
function ours(string $place, Closure $storage): Limiter
{
    $make = fn (string $identifier, int $capacity, int $seconds) => new TokenBucket($storage(), $identifier, $capacity, 1 / $seconds);
    return new Limiter("TokenBucket, $place", '$limiter->consume(1)', $make);
}

/** @return list<Limiter> ours first, in the memory of one host */
function limiters_of_a_host(): array
{
    $symfony = fn (string $what, Closure $locks) => new Limiter(
        "Symfony token bucket on APCu, $what",
        '$limiter->consume(1)->isAccepted()',
        fn (...$quota) => symfony(new ApcuAdapter('bench'), $locks(), ...$quota)
    );
    // One for all processes of a race.
    $locks = temporary_folder();
    return [
        ours('shared memory', fn () => new TokenBucketStorageSharedMemory),
        new Limiter(
            'userland bucket on APCu',
            '$limiter->consume(1)',
            fn (string $identifier, int $capacity, int $seconds) => new UserlandTokenBucket(new ApcuStorage, $identifier, $capacity, 1 / $seconds)
        ),
        $symfony('no lock', fn () => null),
        $symfony('semaphore', fn () => new SemaphoreStore),
        $symfony('flock', fn () => new FlockStore($locks)),
        new Limiter(
            'Laravel RateLimiter on APCu',
            '$limiter->attempt()',
            fn (string $identifier, int $capacity) => new LaravelWindow(new ApcStore(new ApcWrapper), $identifier, $capacity)
        ),
    ];
}

/** @return list<Limiter> ours first, on Redis by its socket */
function limiters_on_redis(RedisServer $server): array
{
    $symfony = fn (string $what, Closure $locks) => new Limiter(
        "Symfony token bucket on Redis, $what",
        '$limiter->consume(1)->isAccepted()',
        function (...$quota) use ($server, $locks) {
            $client = phpredis($server);
            return symfony(new RedisAdapter($client, 'bench'), $locks($client), ...$quota);
        }
    );
    return [
        ours('Redis', fn () => new TokenBucketStorageRedis("unix://$server->socket", '', PATIENCE, TokenBucket\OnFailure::Throw)),
        $symfony('no lock', fn () => null),
        $symfony('lock on Redis', fn (Redis $client) => new RedisLockStore($client)),
        new Limiter(
            'Laravel RateLimiter on Redis',
            '$limiter->attempt()',
            fn (string $identifier, int $capacity) => new LaravelWindow(new LaravelRedisStore(laravel_redis($server)), $identifier, $capacity)
        ),
        new Limiter(
            'Laravel DurationLimiter on Redis',
            '$limiter->acquire()',
            fn (string $identifier, int $capacity) => new DurationLimiter(laravel_redis($server)->connection(), $identifier, $capacity, 3600)
        ),
        new Limiter(
            'JSON bucket under WATCH',
            '$limiter->handler()',
            fn (string $identifier, int $capacity, int $seconds) => new WatchingRateLimiter(phpredis($server), $identifier, $capacity, $capacity * $seconds)
        ),
        new Limiter(
            'leaky bucket in sorted sets',
            '$limiter->request()',
            fn (string $identifier, int $capacity) => new SortedSetLimiter(phpredis($server), $identifier, $capacity)
        ),
    ];
}

/** @return list<Limiter> ours first, on memcached by TCP */
function limiters_on_memcached(int $port): array
{
    return [
        ours('memcached', fn () => new TokenBucketStorageMemcached("127.0.0.1:$port", '', PATIENCE, TokenBucket\OnFailure::Throw)),
        new Limiter(
            'check() behind a lock',
            '$limiter->check()',
            fn (string $identifier, int $capacity, int $seconds) => new LockedBucket(memcache($port), $identifier, $capacity, $capacity * $seconds)
        ),
        new Limiter(
            'counter a minute, five minutes',
            '$limiter->request()',
            fn (string $identifier, int $capacity) => new MinuteCounter(memcache($port), $identifier, $capacity)
        ),
    ];
}

/**
 * @param Closure(): PDO $connect
 * @return list<Limiter> ours first, in a table of MariaDB
 */
function limiters_in_a_table(Closure $connect): array
{
    return [
        ours('MariaDB', fn () => new TokenBucketStoragePDO($connect(), 'limits')),
        new Limiter(
            'transaction with SELECT … FOR UPDATE',
            '$limiter->consume(1)',
            fn (string $identifier, int $capacity, int $seconds) => new UserlandTokenBucket(new UserlandStoragePDOMySQL($connect(), 'limits'), $identifier, $capacity, 1 / $seconds)
        ),
    ];
}

function phpredis(RedisServer $server): Redis
{
    $redis = new Redis;
    $redis->connect($server->socket);
    return $redis;
}

/** With the table, and prepares as the userland class was published. */
function mariadb_with_table(): MariaDbServer
{
    $server = MariaDbServer::start();
    (new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
    return $server;
}
