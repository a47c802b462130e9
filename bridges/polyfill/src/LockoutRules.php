<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * The rules of a lockout, in ticks.
 *
 * The state is the instant at which the block ends, or that of the last attempt. Its low eleven
 * bits are not time: ten of them hold the number of failures. A missing record has the state 0.
 * crates/gcra/src/lockout.rs explains the rules.
 */
final class LockoutRules
{
    public const LOCKED_OUT = 'locked_out';

    /** The unit of the instants of states, in ticks. */
    private const UNIT = 1 << 11;
    private const MOST = 1023;

    /**
     * @param int $attempts the failures that begin the first block
     * @param int $block the first block
     * @param float $factor the factor by which each further failure makes the block longer
     * @param int $maxBlock the longest block
     */
    public function __construct(
        public readonly int $attempts,
        private readonly int $block,
        private readonly float $factor,
        public readonly int $maxBlock,
    ) {}

    /** Decides an attempt. If it is granted, it is counted as a failure. */
    public function attempt(int $state, int $now): Outcome
    {
        [$until, $failures] = $this->read($state, $now);
        if ($now < $until) {
            return new Outcome(self::LOCKED_OUT, $now, $until | $failures);
        }
        $failures = min($failures + 1, self::MOST);
        // Without a block, a second attempt at the same instant must not be denied.
        $until = $this->length($failures) === 0 ? $now & -self::UNIT : $this->latest($failures, $now);
        return new Outcome(Outcome::GRANTED, $now, $until | $failures);
    }

    /** Returns the outcome of an attempt, and changes nothing. */
    public function peek(int $state, int $now): Outcome
    {
        return new Outcome($this->attempt($state, $now)->reason, $now, $state);
    }

    /** Returns the outcome of a success, which clears the state. */
    public static function succeed(int $state, int $now): Outcome
    {
        return new Outcome(Outcome::GRANTED, $now, 0);
    }

    /**
     * Returns the end of the block in a state, and the failures that are not forgotten.
     *
     * The end is at most a block after $now, so that a change of the rules is valid at once.
     *
     * @return array{int, int}
     */
    public function read(int $state, int $now): array
    {
        $failures = $state & self::MOST;
        $until = min($state - $failures, $this->latest($failures, $now));
        return [$until, $until + $this->maxBlock <= $now ? 0 : $failures];
    }

    /** Returns the end of a block that begins at $now, rounded up to the unit. */
    private function latest(int $failures, int $now): int
    {
        $length = $this->length($failures);
        return $length === 0 ? $now : $now + $length + self::UNIT - 1 & -self::UNIT;
    }

    /** Returns the length of the block that begins with this number of failures, or 0. */
    private function length(int $failures): int
    {
        if ($failures < $this->attempts) {
            return 0;
        }
        // The extension multiplies like this. The result of PHP's power may differ in the last bit.
        [$product, $square] = [1.0, $this->factor];
        for ($more = $failures - $this->attempts; $more > 0; $more >>= 1) {
            $product *= $more & 1 ? $square : 1.0;
            $square *= $square;
        }
        $length = $failures === $this->attempts ? $this->block : $this->block * $product;
        return $length >= Quota::MOST ? $this->maxBlock : min((int) $length, $this->maxBlock);
    }
}
