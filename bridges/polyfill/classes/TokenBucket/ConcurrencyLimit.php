<?php

declare(strict_types=1);

namespace TokenBucket;

use TokenBucket\Polyfill\Argument;
use TokenBucket\Polyfill\HeldPermit;
use TokenBucket\Polyfill\Home;
use TokenBucket\Polyfill\MemoryStore;
use TokenBucket\Polyfill\Nap;
use TokenBucket\Polyfill\Quota;

final readonly class ConcurrencyLimit
{
    use Polyfill\NotSerialized;

    /** The first and the longest pause between two tries of a wait. */
    private const PAUSES = [Quota::SECOND / 1000, Quota::SECOND / 50];

    private const STORAGES = [\TokenBucketStorageSharedMemory::class, \TokenBucketStorageRedis::class, \TokenBucketStorageMemory::class];

    private \TokenBucketStorage $storage;
    private string $identifier;
    private int $limit;
    private float $lease;

    public function __construct(\TokenBucketStorage $storage, string $identifier, int $limit, float $lease = 60.0)
    {
        if ($limit < 1 || $limit > 1024) {
            throw (new Argument(self::class . '::__construct', 3, 'limit'))->invalid('must be between 1 and 1024');
        }
        $fault = match (true) {
            is_nan($lease) => 'must not be NAN',
            $lease === INF => 'must be finite',
            $lease <= 0 => 'must be greater than 0',
            $lease >= 2 ** 60 / 1e9 => 'must be less than 2^60 nanoseconds (36 years)',
            default => null,
        };
        if ($fault !== null) {
            throw (new Argument(self::class . '::__construct', 4, 'lease'))->invalid($fault);
        }
        if (!in_array(get_class($storage), self::STORAGES, true)) {
            throw new \LogicException(vsprintf(self::class . ' needs a %s, a %s or a %s, because other storages cannot keep permits', self::STORAGES));
        }
        if (isset($this->limit)) {
            throw new \Error(self::class . ' has already been constructed');
        }
        $this->storage = $storage;
        $this->identifier = $identifier;
        $this->limit = $limit;
        $this->lease = $lease;
    }

    public function acquire(float $timeout = 0.0, ?int $maxWaiting = null): Permit
    {
        if ($maxWaiting !== null) {
            throw new \LogicException(self::class . '::acquire() with $maxWaiting needs the extension');
        }
        $timeout = (new Argument(self::class . '::acquire', 1, 'timeout'))->patience($timeout);
        $home = Home::of($this->storage);
        $held = $this->try($home);
        if ($held !== null || $timeout === 0) {
            return $this->permit($home, $held, 'too_many_concurrent');
        }
        if ($home->store instanceof MemoryStore) {
            // Only this process could give a permit back, and it is waiting. So the whole timeout
            // passes.
            $home->store->advance($timeout);
            return $this->permit($home, null, 'too_many_concurrent');
        }
        return $this->wait($home, $timeout);
    }

    public function held(): int
    {
        $home = Home::of($this->storage);
        return $home->store->permits()->held($home->key($this->identifier), $this->limit);
    }

    private function try(Home $home): ?HeldPermit
    {
        return $home->store->permits()->acquire($home->key($this->identifier), $this->limit);
    }

    /** Tries again and again for $timeout ticks. */
    private function wait(Home $home, int $timeout): Permit
    {
        [$pause, $longest] = self::PAUSES;
        $start = hrtime(true);
        do {
            $left = $timeout - (hrtime(true) - $start);
            // A random part, so that waiting processes do not try at the same instants.
            if (!Nap::take(min(mt_rand($pause >> 1, $pause), max(0, $left)))) {
                return $this->permit($home, null, 'interrupted');
            }
            $held = $this->try($home);
            $pause = min(2 * $pause, $longest);
        } while ($held === null && $left > 0);
        return $this->permit($home, $held, 'too_many_concurrent');
    }

    /** Returns the permit $held, or a denial for $reason if $held is null. */
    private function permit(Home $home, ?HeldPermit $held, string $reason): Permit
    {
        $decision = $held === null
            ? new Decision(false, 0.0, $this->limit, 1.0, 0.0, $reason, $home->isFallback, unit: 'concurrent-requests')
            : new Decision(true, $held->free, $this->limit, fallback: $home->isFallback, unit: 'concurrent-requests');
        return Polyfill\Made::of(Permit::class, $decision, $held);
    }
}
