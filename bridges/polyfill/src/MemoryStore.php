<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Keeps records in this object, on a clock that only advance() moves. */
final class MemoryStore implements Store
{
    /** The clock starts at 2024-01-01T00:00:00Z, which was a Monday. */
    private const EPOCH = 1_704_067_200 * Quota::SECOND - Quota::MOST;
    /** The latest instant of the clock: 109 years after its start. */
    private const LATEST = 1 << 62;

    private int $now = Quota::MOST;

    /** @var array<string, Record> */
    private array $records = [];

    private ?Permits $permits = null;

    public function update(string $key, \Closure $change, bool $evenEnded = false): mixed
    {
        $record = $this->records[$key] ?? null;
        if ($record?->isEnded($this->now)) {
            $record = null;
        }
        [$after, $answer] = $change($record, $this->now, $this->unixTime(), self::EPOCH);
        if ($after !== null) {
            $this->records[$key] = $after;
        } elseif (!$answer instanceof Outcome) {
            // A step that changes nothing leaves a record that has just ended.
            unset($this->records[$key]);
        }
        return $answer;
    }

    /** Reports whether a bucket has a record, also one that has just ended. */
    public function contains(string $key): bool
    {
        return isset($this->records[$key]);
    }

    public function together(\Closure $calls): mixed
    {
        return $calls();
    }

    public function now(): int
    {
        return $this->now;
    }

    public function unixTime(): int
    {
        return $this->now + self::EPOCH;
    }

    public function permits(): Permits
    {
        return $this->permits ??= new MemoryPermits();
    }

    /** Returns the ticks by which the clock can still advance. */
    public function left(): int
    {
        return self::LATEST - $this->now;
    }

    public function sleepUntil(int $due): bool
    {
        $this->advance(max(0, $due - $this->now));
        return true;
    }

    /** Advances the clock, at most by left(), and forgets the buckets that are full. */
    public function advance(int $ticks): void
    {
        $this->now += min($ticks, $this->left());
        $this->records = array_filter($this->records, fn (Record $record) => !$record->isEnded($this->now));
    }
}
