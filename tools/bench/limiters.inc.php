<?php
/**
 * The limiters that benchmarks compare, by store. They are ours, those of Debian's packages, and
 * plain PHP as applications use it. Each limiter has an expression that takes one token.
 */
require_once __DIR__ . '/../testkit/php/userland_apcu.php';
require_once __DIR__ . '/../testkit/php/userland_pdo.php';
require_once __DIR__ . '/../testkit/php/child.php';
require_once __DIR__ . '/../testkit/php/servers.php';
require_once __DIR__ . '/../testkit/php/sql_servers.php';
// Debian installs these packages in the include path.
require 'Symfony/Component/RateLimiter/autoload.php';
require 'Symfony/Component/Cache/autoload.php';
require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';

use Illuminate\Cache\ApcStore;
use Illuminate\Cache\ApcWrapper;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RedisStore as LaravelRedisStore;
use Illuminate\Cache\Repository;
use Illuminate\Contracts\Cache\Store;
use Illuminate\Redis\Limiters\DurationLimiter;
use Illuminate\Redis\RedisManager;
use Psr\Cache\CacheItemPoolInterface;
use Symfony\Component\Cache\Adapter\ApcuAdapter;
use Symfony\Component\Cache\Adapter\RedisAdapter;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\PersistingStoreInterface;
use Symfony\Component\Lock\Store\FlockStore;
use Symfony\Component\Lock\Store\RedisStore as RedisLockStore;
use Symfony\Component\Lock\Store\SemaphoreStore;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

/** A billion tokens, so that the bucket is never empty here. */
const MUCH = 1_000_000_000;
/**
 * The seconds in which a token is refilled. They are long enough that no token is refilled here.
 */
const NEVER = 1_000_000;

/** A limiter that can be compared. */
final class Limiter
{
    /**
     * @param string $take an expression that takes one token from $limiter. Its value is true if
     *        the token is granted
     * @param Closure(string, int, int, int): object $make creates $limiter from an identifier, a
     *        capacity, a time in seconds, and the tokens that are refilled in that time. Limiters
     *        that count windows ignore the time and the tokens
     */
    public function __construct(
        public readonly string $name,
        public readonly string $take,
        private readonly Closure $make,
    ) {
    }

    /** Creates the limiter, with a client of its own for the calling process. */
    public function make(string $identifier, int $capacity, int $seconds, int $tokens = 1): object
    {
        return ($this->make)($identifier, $capacity, $seconds, $tokens);
    }

    /** @return Closure(): bool takes one token from $limiter */
    public function asking(object $limiter): Closure
    {
        return eval("return static fn (): bool => $this->take;");
    }

    /** Returns a limiter whose bucket is empty. Checks that the limiter denies. */
    public function exhausted(): object
    {
        $limiter = $this->make(fresh('exhausted'), 2, NEVER);
        $ask = $this->asking($limiter);
        must($ask(), "$this->name denies at once");
        // With a capacity of two, some limiters grant one token or three.
        for ($i = 0; $i < 3 && $ask(); $i++) {
        }
        must(!$ask(), "$this->name does not limit");
        return $limiter;
    }
}

/** Returns a unique name, so that no lock or record of an earlier run has it. */
function fresh(string $what): string
{
    static $count = 0;
    return sprintf('%s-%d-%d-%d', $what, getmypid(), hrtime(true) % 1_000_000_000, ++$count);
}

/** Returns the limiter that runs our extension on a storage. */
function ours(string $place, Closure $storage): Limiter
{
    $make = fn (string $identifier, int $capacity, int $seconds, int $tokens) => new TokenBucket($storage(), $identifier, $capacity, $tokens / $seconds);
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
    // All processes of a race use the same folder.
    $locks = temporary_folder();
    return [
        ours('shared memory', fn () => new TokenBucketStorageSharedMemory),
        new Limiter(
            'userland bucket on APCu',
            '$limiter->consume(1)',
            fn (string $identifier, int $capacity, int $seconds, int $tokens) => new UserlandTokenBucket(new ApcuStorage, $identifier, $capacity, $tokens / $seconds)
        ),
        $symfony('no lock', fn () => null),
        $symfony('semaphore', fn () => new SemaphoreStore),
        $symfony('flock', fn () => new FlockStore($locks)),
        new Limiter(
            'Laravel RateLimiter on APCu',
            '$limiter()',
            fn (string $identifier, int $capacity) => laravel_window(new ApcStore(new ApcWrapper), $identifier, $capacity)
        ),
    ];
}

/** @return list<Limiter> ours first, on Redis over a Unix socket */
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
            '$limiter()',
            fn (string $identifier, int $capacity) => laravel_window(new LaravelRedisStore(laravel_redis($server)), $identifier, $capacity)
        ),
        new Limiter(
            'Laravel DurationLimiter on Redis',
            '$limiter->acquire()',
            fn (string $identifier, int $capacity) => new DurationLimiter(laravel_redis($server)->connection(), $identifier, $capacity, 3600)
        ),
    ];
}

/** @return list<Limiter> ours, on memcached over TCP */
function limiters_on_memcached(int $port): array
{
    return [
        ours('memcached', fn () => new TokenBucketStorageMemcached("127.0.0.1:$port", '', PATIENCE, TokenBucket\OnFailure::Throw)),
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

/** Starts a MariaDB and creates the table. */
function mariadb_with_table(): MariaDbServer
{
    $server = MariaDbServer::start();
    (new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
    return $server;
}

/** Creates Symfony's token bucket with its factory. */
function symfony(CacheItemPoolInterface $pool, ?PersistingStoreInterface $locks, string $identifier, int $capacity, int $seconds, int $tokens): LimiterInterface
{
    $rate = ['interval' => "$seconds seconds", 'amount' => $tokens];
    $config = ['id' => 'bench', 'policy' => 'token_bucket', 'limit' => $capacity, 'rate' => $rate];
    $factory = new RateLimiterFactory($config, new CacheStorage($pool), $locks === null ? null : new LockFactory($locks));
    return $factory->create($identifier);
}

/** Returns a call of Laravel's limiter, which counts an identifier's hits in a window. */
function laravel_window(Store $store, string $identifier, int $limit): Closure
{
    $limiter = new LaravelRateLimiter(new Repository($store));
    return fn () => $limiter->attempt($identifier, $limit, static fn () => true, 3600);
}

function laravel_redis(RedisServer $server): RedisManager
{
    return new RedisManager(null, 'phpredis', ['default' => ['host' => $server->socket, 'port' => 0]]);
}
