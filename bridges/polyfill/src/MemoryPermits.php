<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Keeps permits in this object, for tests. */
final class MemoryPermits implements Permits
{
    /** @var array<string, array<int, true>> the held cells of each key */
    private array $cells = [];

    public function acquire(string $key, int $limit): ?HeldPermit
    {
        $free = array_diff(range(0, $limit - 1), array_keys($this->cells[$key] ?? []));
        if ($free === []) {
            return null;
        }
        $cell = min($free);
        $this->cells[$key][$cell] = true;
        $release = function () use ($key, $cell): void {
            unset($this->cells[$key][$cell]);
            $this->cells = array_filter($this->cells);
        };
        return new HeldPermit(count($free) - 1, $release, static fn () => true, false);
    }

    public function held(string $key, int $limit): int
    {
        return count(array_filter(array_keys($this->cells[$key] ?? []), static fn (int $cell) => $cell < $limit));
    }
}
