<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * The buckets of a storage object: its store, namespace and grain. Every operation of a bucket is a
 * change of one record.
 */
final class Home
{
    /** The span of a record that was created for a bucket whose limit is unknown: a leap year. */
    private const UNKNOWN_SPAN = 366 * 86_400 * Quota::SECOND;

    /** @var \WeakMap<\TokenBucketStorage, self>|null */
    private static ?\WeakMap $homes = null;

    /** @param bool $isFallback true if the buckets are used instead of those of a server */
    public function __construct(
        public readonly Store $store,
        private readonly string $namespace = '',
        public readonly Grain $grain = Grain::Nanosecond,
        public readonly bool $isFallback = false,
    ) {}

    /** Returns the buckets of a namespace in the file of the application. */
    public static function shared(string $namespace): self
    {
        $outer = Settings::namespace();
        $isRoot = $outer === '' && $namespace === '';
        return new self(FileStore::ofApplication(), $isRoot ? '' : pack('J', strlen($outer)) . $outer . $namespace);
    }

    /** Returns buckets of a fake clock, which no other process shares. */
    public static function memory(): self
    {
        return new self(new MemoryStore(), '', Grain::FakeNanosecond);
    }

    /** Gives a storage object its buckets. */
    public static function give(\TokenBucketStorage $storage, self $home): void
    {
        self::$homes ??= new \WeakMap();
        self::$homes[$storage] = $home;
    }

    /** Returns the buckets of a storage, or null for a storage that is written in PHP. */
    public static function of(\TokenBucketStorage $storage): ?self
    {
        return self::$homes[$storage] ?? match (get_class($storage)) {
            // The constructor has not ended.
            \TokenBucketStorageSharedMemory::class => self::shared(''),
            // PHP is freeing the object, so the WeakMap no longer has an entry for it.
            \TokenBucketStorageMemory::class => self::memory(),
            default => null,
        };
    }

    /** Returns the key of a bucket in the store. */
    public function key(string $identifier): string
    {
        // The length keeps ("a", "bc") and ("ab", "c") apart.
        return hash('sha256', pack('J', strlen($this->namespace)) . $this->namespace . $identifier, true);
    }

    public function has(string $identifier): bool
    {
        $key = $this->key($identifier);
        return $this->store instanceof MemoryStore
            ? $this->store->contains($key)
            : $this->store->update($key, static fn (?Record $record) => [$record, $record !== null]);
    }

    /** Runs a step. A bucket without a record starts in the state after $first, or full. */
    public function take(string $identifier, Step $step, ?int $first = null): Outcome
    {
        return $this->takeByKey($this->key($identifier), $step, $first);
    }

    public function takeByKey(string $key, Step $step, ?int $first = null): Outcome
    {
        if ($this->store instanceof MemoryStore) {
            // Grants no tokens of a time that the clock does not reach.
            $step = $step->within(min($step->maxWait, $this->store->left()));
        }
        return $this->store->update($key, static function (?Record $record, int $now, int $unixTime, int $epoch) use ($step, $first): array {
            [$instant, $epoch] = $step->windows === null ? [$now, 0] : [$unixTime, $epoch];
            $step = $step->at($instant);
            $emptyAt = $record === null ? 0 : $record->emptyAt + $epoch;
            $outcome = $record === null ? $step->decideFirst($first, $instant) : $step->decide($emptyAt, $instant);
            if (!$step->isDry && $outcome->emptyAt !== $emptyAt) {
                $drift = $now - ($instant - $epoch);
                $record = new Record($outcome->emptyAt - $epoch, max($record->span ?? 0, $step->lifetime($drift)));
            }
            return [$record, $outcome];
        }, $step->windows !== null);
    }

    public function giveBack(string $identifier, GiveBack $change): void
    {
        $this->giveBackByKey($this->key($identifier), $change);
    }

    public function giveBackByKey(string $key, GiveBack $change): void
    {
        $this->store->update($key, static function (?Record $record, int $now, int $unixTime, int $epoch) use ($change): array {
            if ($record !== null) {
                [$instant, $epoch] = $change->windows === null ? [$now, 0] : [$unixTime, $epoch];
                $emptyAt = $change->apply($record->emptyAt + $epoch, $instant) - $epoch;
                $record = new Record($emptyAt, $change->windows === null ? max($record->span, $change->span) : $record->span);
            }
            return [$record, null];
        }, $change->windows !== null);
    }

    /**
     * Moves the state forward to the instant $age ticks ago, and never back. Returns the outcome of
     * a dry step for the whole bucket of $span ticks.
     */
    public function raise(string $identifier, int $age, int $span): Outcome
    {
        $look = new Step($span, $span, 0, true);
        return $this->store->update($this->key($identifier), static function (?Record $record, int $now) use ($age, $span, $look): array {
            if ($record === null || $record->emptyAt < $now - $age || $record->span < $span) {
                $record = new Record(max($record->emptyAt ?? 0, $now - $age), max($record->span ?? 0, $span));
            }
            return [$record, $look->decide($record->emptyAt, $now)];
        });
    }

    /** Moves the state of a window forward to a Unix time, the start of a later one. */
    public function advance(string $identifier, int $until): void
    {
        $this->store->update($this->key($identifier), static function (?Record $record, int $now, int $unixTime, int $epoch) use ($until): array {
            $drift = $now - ($unixTime - $epoch);
            return [new Record(max($record->emptyAt ?? 0, $until - $epoch), max($record->span ?? 0, $drift)), null];
        }, true);
    }

    public function reset(string $identifier): void
    {
        $this->store->update($this->key($identifier), static fn () => [null, null]);
    }

    /**
     * Creates the record of a bucket that was empty $seconds ago, unless the bucket has a record.
     * While a bootstrap closure runs for the bucket, proposes that state to the closure's call
     * instead.
     */
    public function startAt(string $identifier, float $seconds, int $span = self::UNKNOWN_SPAN): void
    {
        $age = Seconds::age($seconds, $this->grain);
        if (Proposal::isMade($this, $identifier, $this->store->now() - $age)) {
            return;
        }
        $this->store->update($this->key($identifier), static function (?Record $record, int $now) use ($age, $span): array {
            return [$record ?? new Record($now - $age, $span), null];
        });
    }

    /** Runs a bootstrap closure if the bucket has no record. Returns the state that it proposes. */
    public function firstState(string $identifier, Step $step, \Closure $bootstrap): ?int
    {
        return $step->exceedsCapacity() || $this->has($identifier) ? null : (new Proposal($this, $identifier))->during($bootstrap);
    }

    /**
     * Passes the state of a lockout, which is 0 without a record, and the current instant to
     * $decide. Keeps the state of its outcome for $life ticks after the instant in that state.
     *
     * @param \Closure(int, int): Outcome $decide
     */
    public function updateLockout(string $identifier, int $life, \Closure $decide): Outcome
    {
        // No bucket has this key. The hashed bytes of a bucket's key begin with the length of its
        // namespace, and no namespace is as long as "lockout" would mean.
        $key = hash('sha256', 'lockout' . $this->key($identifier), true);
        return $this->store->update($key, static function (?Record $record, int $now) use ($life, $decide): array {
            $outcome = $decide($record->emptyAt ?? 0, $now);
            if ($outcome->emptyAt !== ($record->emptyAt ?? 0)) {
                $record = new Record($outcome->emptyAt, max($record->span ?? 0, $life));
            }
            return [$record, $outcome];
        });
    }
}
