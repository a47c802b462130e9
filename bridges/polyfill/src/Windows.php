<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * The window in which a call is made, and its neighbours. Instants are Unix times in ticks. A
 * bucket of which $used ticks were taken since the window started is in the state start + $used.
 * crates/gcra/src/refill.rs explains why.
 */
final class Windows
{
    /**
     * @param array{int, int, int, int} $starts the starts of the window before, of the window, and
     *     of the two windows after it
     */
    public function __construct(private readonly array $starts) {}

    public function start(): int
    {
        return $this->starts[1];
    }

    public function end(): int
    {
        return $this->starts[2];
    }

    /** Returns the length of the shortest of the three windows that are known. */
    public function shortest(): int
    {
        [$before, $start, $end, $later] = $this->starts;
        return min($start - $before, $end - $start, $later - $end);
    }

    /** Returns the windows at an instant that may be in the window before or after. */
    public function at(int $now): self
    {
        [$before, $start, $end, $later] = $this->starts;
        return match (true) {
            $now < $start => new self([2 * $before - $start, $before, $start, $end]),
            $now < $end => $this,
            default => new self([$start, $end, $later, 2 * $later - $end]),
        };
    }

    /**
     * Returns the first start of a later window that is at $instant or after it, or null if
     * unknown.
     */
    public function firstFrom(int $instant): ?int
    {
        foreach (array_slice($this->starts, 1) as $start) {
            if ($start >= $instant) {
                return $start;
            }
        }
        return null;
    }

    /** Reports whether a state is of a later window, because the clock was set back. */
    public function areBefore(int $emptyAt): bool
    {
        return $emptyAt > $this->end();
    }

    /**
     * Returns the state after ticks were given back to this window. A state of another window does
     * not change.
     */
    public function refunded(int $emptyAt, int $cost): int
    {
        return $this->areBefore($emptyAt) ? $emptyAt : min($emptyAt, max($emptyAt - $cost, $this->start()));
    }
}
