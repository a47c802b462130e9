<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Keeps records by key. All changes go through update(), so that each is one atomic operation. */
interface Store
{
    /**
     * Passes to $change: the record of a key, or null, the instant in ticks, the Unix time in
     * ticks, and the Unix time of the instant 0, which never changes. Keeps the record that $change
     * returns first, and returns the second value. $change may run several times.
     *
     * @template T
     * @param string $key at least 16 bytes
     * @param \Closure(?Record, int, int, int): array{?Record, T} $change
     * @param bool $evenEnded true to pass a record that has ended, if it is still there
     * @return T
     */
    public function update(string $key, \Closure $change, bool $evenEnded = false): mixed;

    /**
     * Runs $calls while no other process can change a record.
     *
     * @template T
     * @param \Closure(): T $calls
     * @return T
     */
    public function together(\Closure $calls): mixed;

    /** Returns the current instant in ticks, at least Quota::MOST. */
    public function now(): int;

    /** Returns the Unix time in ticks. */
    public function unixTime(): int;

    /** Returns the permits that are kept beside the records. */
    public function permits(): Permits;

    /** Sleeps until an instant. Returns false if a signal ended the sleep. */
    public function sleepUntil(int $due): bool;
}
