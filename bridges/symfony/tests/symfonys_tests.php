<?php

declare(strict_types=1);

/**
 * Prepares Symfony's own tests. Makes Symfony's TokenBucketLimiter a bucket on the clock of the
 * test.
 *
 * FACTORY=1 keeps Symfony's TokenBucketLimiter, for the tests of the factory over InMemoryStorage.
 */
namespace Symfony\Bridge\PhpUnit {
    /** A clock that only sleep() and usleep() advance. Symfony's PHPUnit bridge has this class. */
    final class ClockMock
    {
        public static float $now;

        public static function register(string $class): void
        {
        }

        public static function withClockMock(int $now): void
        {
            self::$now = $now;
        }

        public static function sleep(float $seconds): void
        {
            self::$now += $seconds;
            foreach (\TokenBucket\Bridge\Symfony\Tests\TokenBucketLimiter::memories() as $memory) {
                $memory->advance($seconds);
            }
        }
    }
    ClockMock::$now = floor(microtime(true)) + 0.25;
}

namespace TokenBucket\Bridge\Symfony\Tests {
    use Symfony\Component\Lock\LockInterface;
    use Symfony\Component\RateLimiter\LimiterInterface;
    use Symfony\Component\RateLimiter\Policy;
    use Symfony\Component\RateLimiter\RateLimit;
    use Symfony\Component\RateLimiter\Reservation;
    use Symfony\Component\RateLimiter\Storage\StorageInterface;
    use TokenBucket;
    use TokenBucket\Bridge\Symfony\BucketLimiter;
    use TokenBucketStorageMemory;

    require __DIR__ . '/bootstrap.php';

    /** Has the constructor of Symfony's TokenBucketLimiter. */
    final class TokenBucketLimiter implements LimiterInterface
    {
        private static \WeakMap $memories;
        private readonly BucketLimiter $limiter;

        public function __construct(string $id, int $maxBurst, Policy\Rate $rate, StorageInterface $storage, ?LockInterface $lock = null)
        {
            self::memories();
            $memory = self::$memories[$storage] ??= new TokenBucketStorageMemory();
            [, $amount] = explode('-', (string) $rate);
            $perSecond = $amount / $rate->calculateTimeForTokens((int) $amount);
            $this->limiter = new BucketLimiter(new TokenBucket($memory, $id, $maxBurst, $perSecond), $maxBurst);
        }

        /** @return iterable<TokenBucketStorageMemory> */
        public static function memories(): iterable
        {
            return self::$memories ??= new \WeakMap();
        }

        public function reserve(int $tokens = 1, ?float $maxTime = null): Reservation
        {
            return $this->limiter->reserve($tokens, $maxTime);
        }

        public function consume(int $tokens = 1): RateLimit
        {
            return $this->limiter->consume($tokens);
        }

        public function reset(): void
        {
            $this->limiter->reset();
        }
    }

    if (getenv('FACTORY') === false) {
        class_alias(TokenBucketLimiter::class, Policy\TokenBucketLimiter::class);
    }
    foreach (['', '\\Policy', '\\Storage', '\\Util', '\\Tests', '\\Tests\\Policy'] as $part) {
        $namespaces[] = "Symfony\\Component\\RateLimiter$part";
    }
    foreach ([...$namespaces, 'TokenBucket\\Bridge\\Symfony'] as $namespace) {
        eval(<<<PHP
            namespace $namespace;
            use Symfony\Bridge\PhpUnit\ClockMock;
            function microtime(bool \$asFloat = false): float { return ClockMock::\$now; }
            function hrtime(bool \$asNumber = false): int { return (int) (ClockMock::\$now * 1e9); }
            function time(): int { return (int) ClockMock::\$now; }
            function sleep(int \$seconds): int { ClockMock::sleep(\$seconds); return 0; }
            function usleep(int \$microseconds): void { ClockMock::sleep(\$microseconds / 1e6); }
            PHP);
    }
    spl_autoload_register(static function (string $class): void {
        $prefix = 'Symfony\\Component\\RateLimiter\\Tests\\';
        if (str_starts_with($class, $prefix)) {
            require getenv('SYMFONYS_TESTS') . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        }
    });
}
