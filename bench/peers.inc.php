<?php
/**
 * The limiters of others, each behind one object that is asked for one token: what is in Debian, and the sequences
 * that people run, rewritten in plain PHP.
 */
require __DIR__ . '/apcu_storage.inc.php';
require __DIR__ . '/watch_bucket.inc.php';
require __DIR__ . '/lock_bucket.inc.php';
require __DIR__ . '/../php-tests/userland_pdo.inc.php';
require __DIR__ . '/../php-tests/06_compat/plain.inc.php';
require __DIR__ . '/../php-tests/06_compat/memcached_plain.inc.php';
// Debian has them in the include path.
require 'Symfony/Component/RateLimiter/autoload.php';
require 'Symfony/Component/Cache/autoload.php';
require 'Illuminate/Cache/autoload.php';
require 'Illuminate/Redis/autoload.php';

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\Repository;
use Illuminate\Contracts\Cache\Store;
use Illuminate\Redis\RedisManager;
use Psr\Cache\CacheItemPoolInterface;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\PersistingStoreInterface;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\CacheStorage;

/** Symfony's token bucket, from its factory. */
function symfony(CacheItemPoolInterface $pool, ?PersistingStoreInterface $locks, string $identifier, int $capacity, int $seconds): LimiterInterface
{
    $rate = ['interval' => "$seconds seconds", 'amount' => 1];
    $config = ['id' => 'bench', 'policy' => 'token_bucket', 'limit' => $capacity, 'rate' => $rate];
    $factory = new RateLimiterFactory($config, new CacheStorage($pool), $locks === null ? null : new LockFactory($locks));
    return $factory->create($identifier);
}

/** Laravel's limiter, which counts an identifier's hits in a window. */
final class LaravelWindow
{
    private readonly LaravelRateLimiter $limiter;

    public function __construct(Store $store, private readonly string $identifier, private readonly int $limit)
    {
        $this->limiter = new LaravelRateLimiter(new Repository($store));
    }

    public function attempt(): bool
    {
        return $this->limiter->attempt($this->identifier, $this->limit, static fn () => true, 3600);
    }
}

function laravel_redis(RedisServer $server): RedisManager
{
    return new RedisManager(null, 'phpredis', ['default' => ['host' => $server->socket, 'port' => 0]]);
}

/** A set of hits for each client, looked up first. */
final class SortedSetLimiter
{
    public function __construct(private readonly Redis $redis, private readonly string $member, private readonly int $limit)
    {
    }

    public function request(): bool
    {
        return plain_request($this->redis, 'hits', $this->member, $this->limit);
    }
}

/** A bucket behind a lock. */
final class LockedBucket
{
    private readonly LockingRateLimiter $limiter;

    public function __construct(Memcache $memcache, private readonly string $key, private readonly int $limit, private readonly int $window)
    {
        $this->limiter = new LockingRateLimiter($memcache);
    }

    public function check(): bool
    {
        return !$this->limiter->check($this->key, $this->limit, $this->window);
    }
}

/** A counter a minute, of which the last five are added up. */
final class MinuteCounter
{
    private readonly PlainMinuteWindow $window;

    public function __construct(Memcache $memcache, string $client, private readonly int $limit)
    {
        $this->window = new PlainMinuteWindow($memcache, $client);
    }

    public function request(): bool
    {
        return $this->window->limitRequestsInMinutes($this->limit, 5);
    }
}
