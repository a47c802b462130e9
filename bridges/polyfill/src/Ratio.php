<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Multiplies and divides integers exactly, because PHP's own integers have 63 bits. */
final class Ratio
{
    /** The bits of a limb. A number has three limbs, and the sums of their products fit an int. */
    private const LIMB = 21;

    /**
     * Returns $a * $b * 2^$shift / $divisor, rounded up or down. Returns null above PHP_INT_MAX.
     *
     * @param int $divisor 1 to 2^62
     */
    public static function of(int $a, int $b, int $shift, int $divisor, bool $up): ?int
    {
        $product = $a * $b;
        if ($shift === 0 && is_int($product)) {
            return intdiv($product, $divisor) + (int) ($up && $product % $divisor !== 0);
        }
        $bits = self::product($a, $b);
        if ($bits === '') {
            return 0;
        }
        if ($shift >= 0) {
            // The quotient has more than 63 bits, because the divisor has at most 63.
            return strlen($bits) + $shift > 126 ? null : self::divide($bits . str_repeat('0', $shift), $divisor, $up);
        }
        // ceil(ceil(x / 2^s) / d) = ceil(x / (2^s * d)). The same holds for floor.
        $isRounded = str_contains(substr($bits, $shift), '1');
        return self::divide(substr($bits, 0, $shift), $divisor, $up, $up && $isRounded);
    }

    /** Returns the product of two numbers as binary digits, without zeros at the beginning. */
    private static function product(int $a, int $b): string
    {
        $limbs = array_fill(0, 6, 0);
        foreach (self::limbs($a) as $i => $x) {
            foreach (self::limbs($b) as $j => $y) {
                $limbs[$i + $j] += $x * $y;
            }
        }
        $bits = '';
        $carry = 0;
        foreach ($limbs as $limb) {
            $limb += $carry;
            $bits = sprintf('%021b', $limb & (1 << self::LIMB) - 1) . $bits;
            $carry = $limb >> self::LIMB;
        }
        return ltrim($bits, '0');
    }

    /** @return list<int> the limbs of a number, the least one first */
    private static function limbs(int $number): array
    {
        $mask = (1 << self::LIMB) - 1;
        return [$number & $mask, $number >> self::LIMB & $mask, $number >> 2 * self::LIMB];
    }

    /** Divides a number of binary digits. $isRounded adds something less than 1 to the number. */
    private static function divide(string $bits, int $divisor, bool $up, bool $isRounded = false): ?int
    {
        $quotient = $rest = 0;
        for ($i = 0, $n = strlen($bits); $i < $n; $i++) {
            if ($quotient > PHP_INT_MAX >> 1) {
                return null;
            }
            // The rest is below the divisor, so it fits an int when it is doubled.
            $rest = $rest << 1 | (int) $bits[$i];
            $quotient <<= 1;
            if ($rest >= $divisor) {
                $rest -= $divisor;
                $quotient |= 1;
            }
        }
        if (!$up || $rest === 0 && !$isRounded) {
            return $quotient;
        }
        return $quotient === PHP_INT_MAX ? null : $quotient + 1;
    }
}
