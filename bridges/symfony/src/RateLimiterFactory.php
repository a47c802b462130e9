<?php

declare(strict_types=1);

namespace Symfony\Component\RateLimiter {
    // Symfony has this interface since 7.3.
    if (!interface_exists(RateLimiterFactoryInterface::class)) {
        interface RateLimiterFactoryInterface
        {
            public function create(?string $key = null): LimiterInterface;
        }
    }
}

namespace TokenBucket\Bridge\Symfony {
    use Symfony\Component\Lock\LockFactory;
    use Symfony\Component\OptionsResolver\Exception\MissingOptionsException;
    use Symfony\Component\RateLimiter\LimiterInterface;
    use Symfony\Component\RateLimiter\Policy\FixedWindowLimiter;
    use Symfony\Component\RateLimiter\Policy\NoLimiter;
    use Symfony\Component\RateLimiter\Policy\Rate;
    use Symfony\Component\RateLimiter\Policy\SlidingWindowLimiter;
    use Symfony\Component\RateLimiter\Policy\TokenBucketLimiter;
    use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;
    use Symfony\Component\RateLimiter\Storage\StorageInterface;
    use TokenBucket;

    /**
     * Creates limiters from the configuration of framework.rate_limiter. Replaces Symfony's class
     * of this name.
     *
     * Over a BucketStorage every policy is a bucket of "limit" tokens. A window refills its whole
     * limit in an interval. Over other storages, Symfony's limiters are created.
     */
    final class RateLimiterFactory implements RateLimiterFactoryInterface
    {
        /** The time in which $amount tokens are refilled, or null without a limit. */
        private readonly ?\DateInterval $interval;
        private readonly float $seconds;
        private readonly int $amount;

        /** @param array{id: string, policy: string, limit?: int, interval?: string, rate?: array{interval: string, amount?: int}} $config */
        public function __construct(
            private readonly array $config,
            private readonly StorageInterface $storage,
            private readonly ?LockFactory $lockFactory = null,
        ) {
            $missing = array_diff(['id', 'policy'], array_keys($config));
            if ($missing !== []) {
                throw new MissingOptionsException(sprintf('The required options "%s" are missing.', implode('", "', $missing)));
            }
            $refill = $config['policy'] === 'token_bucket' ? $config['rate'] : $config;
            $this->amount = $config['policy'] === 'token_bucket' ? $refill['amount'] ?? 1 : $config['limit'] ?? 0;
            if ($config['policy'] === 'no_limit') {
                return;
            }
            // As in Symfony, an interval starts now, in UTC.
            $now = \DateTimeImmutable::createFromFormat('U', (string) time());
            try {
                $end = @$now->modify("+$refill[interval]");
            } catch (\Exception) {
                $end = false;
            }
            if ($end === false) {
                throw new \LogicException(sprintf('Cannot parse interval "%s", please use a valid unit as described on https://php.net/datetime.formats#datetime.formats.relative', $refill['interval']));
            }
            $this->interval = $now->diff($end);
            $this->seconds = $end->getTimestamp() - $now->getTimestamp();
        }

        public function create(?string $key = null): LimiterInterface
        {
            $id = $this->config['id'] . '-' . $key;
            if ($this->config['policy'] === 'no_limit') {
                return new NoLimiter();
            }
            $limit = $this->config['limit'];
            if ($this->storage instanceof BucketStorage) {
                return new BucketLimiter(new TokenBucket($this->storage->storage, $id, $limit, $this->amount / $this->seconds), $limit);
            }
            $lock = $this->lockFactory?->createLock($id);
            return match ($this->config['policy']) {
                'token_bucket' => new TokenBucketLimiter($id, $limit, new Rate($this->interval, $this->amount), $this->storage, $lock),
                'fixed_window' => new FixedWindowLimiter($id, $limit, $this->interval, $this->storage, $lock),
                'sliding_window' => new SlidingWindowLimiter($id, $limit, $this->interval, $this->storage, $lock),
            };
        }
    }
}
