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
    use Symfony\Component\OptionsResolver\OptionConfigurator;
    use Symfony\Component\OptionsResolver\OptionsResolver;
    use Symfony\Component\RateLimiter\Exception\InvalidIntervalException;
    use Symfony\Component\RateLimiter\LimiterInterface;
    use Symfony\Component\RateLimiter\Policy\CalendarAlignedWindow;
    use Symfony\Component\RateLimiter\Policy\FixedWindowLimiter;
    use Symfony\Component\RateLimiter\Policy\NoLimiter;
    use Symfony\Component\RateLimiter\Policy\Rate;
    use Symfony\Component\RateLimiter\Policy\SlidingWindow;
    use Symfony\Component\RateLimiter\Policy\SlidingWindowLimiter;
    use Symfony\Component\RateLimiter\Policy\TokenBucketLimiter;
    use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;
    use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;
    use Symfony\Component\RateLimiter\Storage\StorageInterface;
    use TokenBucket;
    use TokenBucket\Period;
    use TokenBucket\Quota;

    /**
     * Creates limiters from the configuration of framework.rate_limiter. Replaces Symfony's class
     * of this name.
     *
     * Over a BucketStorage every policy is a bucket of "limit" tokens. A window refills its whole
     * limit in an interval. A window of the calendar is a quota. Over other storages, Symfony's
     * limiters are created.
     */
    final class RateLimiterFactory implements RateLimiterFactoryInterface
    {
        private const POLICIES = ['token_bucket', 'fixed_window', 'sliding_window', 'no_limit'];
        private const TYPES = ['id' => null, 'policy' => null, 'limit' => 'is_int', 'interval' => self::class . '::isInterval', 'rate' => 'is_array', 'anchor_at' => null];
        private const TYPES_OF_RATE = ['amount' => 'is_int', 'interval' => self::class . '::isInterval'];
        /** The highest rate of a bucket, in tokens a second. */
        private const MAX_RATE = 1e15;
        /** The longest span of a bucket is 36 years. This is a little less. */
        private const MAX_SECONDS = 1e9;

        /** The time in which $amount tokens are refilled, or null if it is not configured. */
        private readonly ?\DateInterval $interval;
        private readonly float $seconds;
        private readonly int $amount;
        private readonly string $id;
        /** The start of a window, if windows follow the calendar. */
        private readonly ?\DateTimeImmutable $anchor;

        /** @param array{id: string, policy: string, limit?: int, interval?: string|\DateInterval, rate?: array{interval: string|\DateInterval, amount?: int}, anchor_at?: null|string|\DateTimeInterface} $config */
        public function __construct(
            private readonly array $config,
            private readonly StorageInterface $storage,
            private readonly ?LockFactory $lockFactory = null,
        ) {
            // Symfony's limiters have windows of the calendar since 8.1.
            self::check($config, $storage instanceof BucketStorage || class_exists(CalendarAlignedWindow::class));
            // As in Symfony, the id may be an integer or an object.
            $this->id = (string) $config['id'];
            $this->anchor = isset($config['anchor_at']) ? self::anchor($config['anchor_at'], $storage) : null;
            $rate = $config['rate'] ?? [];
            $window = isset($config['interval']) ? self::parse($config['interval']) : [null, 0];
            $refill = isset($rate['interval']) ? self::parse($rate['interval']) : [null, 0];
            $refills = $config['policy'] === 'token_bucket';
            [$this->interval, $this->seconds] = $refills ? $refill : $window;
            $this->amount = $refills ? $rate['amount'] ?? 1 : $config['limit'] ?? 0;
        }

        public function create(?string $key = null): LimiterInterface
        {
            $id = "$this->id-$key";
            if ($this->config['policy'] === 'no_limit') {
                return new NoLimiter();
            }
            $limit = $this->config['limit'];
            if ($this->storage instanceof BucketStorage) {
                $size = $this->config['policy'] === 'token_bucket' ? 'burst size' : 'size';
                $bucket = $this->anchor === null ? $this->bucket($this->storage, $id, $limit) : $this->quota($this->storage, $id, $limit, $this->anchor);
                // Symfony 5.4 denies more tokens than the limit of a sliding window.
                $deniesMore = $this->config['policy'] === 'sliding_window' && !method_exists(SlidingWindow::class, 'calculateTimeForTokens');
                return new BucketLimiter($bucket, $limit, $size, $deniesMore);
            }
            $lock = $this->lockFactory?->createLock($id);
            return match ($this->config['policy']) {
                'token_bucket' => new TokenBucketLimiter($id, $limit, new Rate($this->interval, $this->amount), $this->storage, $lock),
                'fixed_window' => new FixedWindowLimiter($id, $limit, $this->interval, $this->storage, $lock, ...array_filter([$this->anchor])),
                'sliding_window' => new SlidingWindowLimiter($id, $limit, $this->interval, $this->storage, $lock),
            };
        }

        /** Creates the bucket of an identifier. Symfony's limits may exceed a bucket's bounds. */
        private function bucket(BucketStorage $storage, string $id, int $limit): TokenBucket
        {
            if ($this->seconds <= 0) {
                throw new InvalidIntervalException('The interval must be positive.');
            }
            $rate = min(self::MAX_RATE, max($this->amount / $this->seconds, $limit / self::MAX_SECONDS));
            // The identifier has the length of the limiter's name, which separates the name from
            // the key.
            return new TokenBucket($storage->storage, strlen($this->id) . ":$id", max(1, $limit), $limit > 0 ? $rate : 1);
        }

        /** Creates the quota of an identifier, whose windows follow the calendar. */
        private function quota(BucketStorage $storage, string $id, int $limit, \DateTimeImmutable $anchor): Quota
        {
            $interval = self::text($this->config['interval']);
            if (!preg_match('/^\s*1\s*(minute|hour|day|week|month|year)s?\s*$/iD', $interval, $unit)) {
                throw new \LogicException(sprintf('Its interval must be one minute, hour, day, week, month or year, not "%s".', $interval));
            }
            $period = constant(Period::class . '::' . ucfirst(strtolower($unit[1])));
            // Another period or anchor needs another identifier. The identifier of a bucket begins
            // with a digit.
            $name = sprintf('%s:%s:%d:%s', $period->name, $anchor->format('c e'), strlen($this->id), $id);
            return new Quota($storage->storage, $name, max(1, $limit), $period, $anchor);
        }

        /** Returns the text of an interval, such as "1 month". */
        private static function text(string|\DateInterval $interval): string
        {
            if (is_string($interval)) {
                return $interval;
            }
            $units = array_filter(['year' => $interval->y, 'month' => $interval->m, 'day' => $interval->d, 'hour' => $interval->h, 'minute' => $interval->i, 'second' => $interval->s + $interval->f]);
            $text = implode(' ', array_map(static fn (string $unit, int|float $number) => "$number $unit", array_keys($units), $units));
            return ($interval->invert ? '-' : '') . ($text === '7 day' ? '1 week' : $text);
        }

        private static function isInterval(mixed $value): bool
        {
            return is_string($value) || $value instanceof \DateInterval;
        }

        /** @return array{\DateInterval, float} an interval and its seconds */
        private static function parse(string|\DateInterval $interval): array
        {
            // As in Symfony, an interval starts now, in UTC.
            $now = \DateTimeImmutable::createFromFormat('U', (string) time());
            try {
                $end = is_string($interval) ? @$now->modify("+$interval") : $now->add($interval);
            } catch (\Exception) {
                $end = false;
            }
            if ($end === false) {
                throw new \LogicException(sprintf('Cannot parse interval "%s", please use a valid unit as described on https://php.net/datetime.formats#datetime.formats.relative', $interval));
            }
            return [$now->diff($end), $end->getTimestamp() - $now->getTimestamp() + $end->format('u') / 1e6];
        }

        private static function anchor(string|\DateTimeInterface $anchor, StorageInterface $storage): \DateTimeImmutable
        {
            // The anchor is a part of a quota's identifier, so it must not depend on the current
            // time.
            if (is_string($anchor) && $storage instanceof BucketStorage && strtotime($anchor, 0) !== strtotime($anchor, 40_000_003)) {
                throw new \InvalidArgumentException(sprintf('The start of a window must be a whole date, not "%s", which depends on the present.', $anchor));
            }
            if ($anchor instanceof \DateTimeInterface) {
                return \DateTimeImmutable::createFromInterface($anchor);
            }
            try {
                return new \DateTimeImmutable($anchor, new \DateTimeZone('UTC'));
            } catch (\Exception $e) {
                throw new \InvalidArgumentException(sprintf('Cannot parse "anchor_at" value "%s".', $anchor), 0, $e);
            }
        }

        /** Throws the exceptions of Symfony's factory for options that it refuses. */
        private static function check(array $config, bool $hasAnchors): void
        {
            if (isset($config['id'], $config['policy']) && in_array($config['policy'], self::POLICIES, true) && self::hasTypes($config, self::TYPES)
                && self::hasTypes($config['rate'] ?? [], self::TYPES_OF_RATE)
                && (!isset($config['anchor_at']) || is_string($config['anchor_at']) && $config['policy'] === 'fixed_window' && $hasAnchors)) {
                return;
            }
            // Symfony's resolver throws the exception. It takes longer than a decision, so it runs
            // only for wrong options.
            $options = new OptionsResolver();
            // Symfony accepts a DateInterval since 8.2.
            $interval = method_exists(SymfonyRateLimit::class, 'getResetAt') ? ['string', \DateInterval::class] : ['string'];
            $options->define('id')->required()
                ->define('policy')->required()->allowedValues(...self::POLICIES)
                ->define('limit')->allowedTypes('int')
                ->define('interval')->allowedTypes(...$interval);
            $rate = static function (OptionsResolver $rate) use ($interval): void {
                $rate->define('amount')->allowedTypes('int')
                    ->define('interval')->allowedTypes(...$interval);
            };
            // Symfony deprecates a nested resolver as a default since 7.3.
            $option = $options->define('rate');
            method_exists(OptionConfigurator::class, 'options') ? $option->options($rate) : $option->default($rate);
            if ($hasAnchors) {
                $options->define('anchor_at')->allowedTypes('null', 'string', \DateTimeInterface::class);
            }
            $options->resolve($config);
            if (isset($config['anchor_at']) && $config['policy'] !== 'fixed_window') {
                throw new \LogicException('The "anchor_at" option is only supported with the "fixed_window" policy.');
            }
        }

        /** @param array<string, ?callable-string> $types checks the type of each option that is known */
        private static function hasTypes(array $options, array $types): bool
        {
            foreach ($options as $name => $value) {
                if (!array_key_exists($name, $types) || ($types[$name] !== null && !$types[$name]($value))) {
                    return false;
                }
            }
            return true;
        }
    }
}
