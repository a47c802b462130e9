<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Keeps permits. A key with the limit n has the cells 0 to n - 1. */
interface Permits
{
    /** Takes a permit, or returns null if all are held. */
    public function acquire(string $key, int $limit): ?HeldPermit;

    /** Returns the number of permits that are held, at most $limit. */
    public function held(string $key, int $limit): int;
}
