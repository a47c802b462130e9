<?php

declare(strict_types=1);

/**
 * Declares Symfony's RateLimiterBuilder as its documentation describes it, for the versions before
 * 8.2. Debian has no package of 8.2.
 */
namespace Symfony\Component\RateLimiter;

use Symfony\Component\RateLimiter\Storage\StorageInterface;

if (!class_exists(RateLimiterBuilder::class)) {
    final class RateLimiterBuilder
    {
        public const IS_OF_TEST = true;

        public function __construct(private StorageInterface $storage, private ?object $lockFactory = null)
        {
        }

        public function slidingWindow(string $id, int $limit, \DateInterval|string $interval): RateLimiterFactoryInterface
        {
            return $this->factory(['policy' => 'sliding_window', 'id' => $id, 'limit' => $limit, 'interval' => $interval]);
        }

        public function fixedWindow(string $id, int $limit, \DateInterval|string $interval, \DateTimeInterface|string|null $anchorAt = null): RateLimiterFactoryInterface
        {
            return $this->factory(['policy' => 'fixed_window', 'id' => $id, 'limit' => $limit, 'interval' => $interval, 'anchor_at' => $anchorAt]);
        }

        public function tokenBucket(string $id, int $limit, \DateInterval|string $interval, int $amount = 1): RateLimiterFactoryInterface
        {
            return $this->factory(['policy' => 'token_bucket', 'id' => $id, 'limit' => $limit, 'rate' => ['interval' => $interval, 'amount' => $amount]]);
        }

        private function factory(array $config): RateLimiterFactoryInterface
        {
            return new RateLimiterFactory($config, $this->storage, $this->lockFactory);
        }
    }
}
