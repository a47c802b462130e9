<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** An exact amount of tokens: mantissa * 2^exponent. It is finite and not negative. */
final class Amount
{
    private function __construct(public readonly int|float $number, private readonly int $mantissa, private readonly int $exponent) {}

    /** Returns the reason why a number is not an amount, or null. */
    public static function fault(int|float $number): ?string
    {
        return match (true) {
            is_float($number) && !is_finite($number) => 'must be finite',
            $number < 0 => 'must be greater than or equal to 0',
            default => null,
        };
    }

    /** Converts a number without a fault(). */
    public static function of(int|float $number): self
    {
        if (is_int($number)) {
            return new self($number, $number, 0);
        }
        // IEEE 754 binary64 has 52 bits of fraction and 11 of exponent. Subnormal numbers have the
        // biased exponent 0, which means the same power of two as 1.
        $bits = unpack('q', pack('d', abs($number)))[1];
        $mantissa = $bits & (1 << 52) - 1;
        $biased = $bits >> 52;
        if ($biased > 0) {
            $mantissa |= 1 << 52;
        }
        $exponent = max($biased, 1) - 1075;
        if ($mantissa === 0) {
            return new self($number, 0, 0);
        }
        while (($mantissa & 1) === 0) {
            $mantissa >>= 1;
            $exponent++;
        }
        return new self($number, $mantissa, $exponent);
    }

    public function isZero(): bool
    {
        return $this->mantissa === 0;
    }

    public function isWhole(): bool
    {
        return $this->exponent >= 0;
    }

    /** Returns the whole tokens in the amount, at most PHP_INT_MAX. */
    public function floor(): int
    {
        return $this->scale(1, 1, false) ?? PHP_INT_MAX;
    }

    /** Returns amount * $factor / $divisor, rounded up or down, or null above PHP_INT_MAX. */
    public function scale(int $factor, int $divisor, bool $up): ?int
    {
        return Ratio::of($this->mantissa, $factor, $this->exponent, $divisor, $up);
    }

    /** Returns $numerator / amount, rounded up, or null above PHP_INT_MAX. The amount is not 0. */
    public function divideUp(int $numerator): ?int
    {
        if ($this->isWhole()) {
            return Ratio::of($numerator, 1, 0, $this->floor(), true);
        }
        return Ratio::of($numerator, 1, -$this->exponent, $this->mantissa, true);
    }

    public function exceeds(self $other): bool
    {
        [$a, $b] = [$this->number, $other->number];
        if (is_int($a) === is_int($b)) {
            return $a > $b;
        }
        // PHP compares an int with a float as floats, which are not exact from 2^53 on.
        if ((is_float($a) ? $a : $b) >= 2 ** 63) {
            // The float is above every int.
            return is_float($a);
        }
        [$wholeA, $wholeB] = [$this->floor(), $other->floor()];
        return $wholeA > $wholeB || $wholeA === $wholeB && (float) $a > (float) $b;
    }
}
