<?php

// Without strict_types: PHP converts the arguments of the closures below as in weak mode.

namespace TokenBucket\Polyfill;

/** An argument of a public method. Converts its value and names it in errors. */
final class Argument
{
    public function __construct(private readonly string $function, private readonly int $position, private readonly string $name) {}

    /** Converts an untyped argument to a number, whatever the caller's strict_types. */
    public function number(mixed $value): int|float
    {
        return $value === null ? throw $this->wrong('must be of type int|float, null given') : $this->converted($value, 'int|float', static fn (int|float $number): int|float => $number);
    }

    /** Converts an untyped argument to a string, whatever the caller's strict_types. */
    public function string(mixed $value): string
    {
        return $this->converted($value, 'string', static fn (string $string): string => $string) ?? '';
    }

    private function converted(mixed $value, string $type, \Closure $convert): mixed
    {
        if ($value === null) {
            trigger_error("$this->function(): Passing null to parameter #$this->position (\$$this->name) of type $type is deprecated", E_USER_DEPRECATED);
            return null;
        }
        // PHP converts objects by __toString(), which may throw a TypeError of its own.
        if ($value instanceof \Stringable && $type === 'string') {
            return (string) $value;
        }
        try {
            return $convert($value);
        } catch (\TypeError) {
            throw new \TypeError($this->says("must be of type $type, " . self::typeOf($value) . ' given'));
        }
    }

    /** Returns the type as PHP's own errors name it. */
    private static function typeOf(mixed $value): string
    {
        return is_resource($value) ? 'resource' : get_debug_type($value);
    }

    /** Returns a number of tokens. */
    public function amount(int|float $number): Amount
    {
        $fault = Amount::fault($number);
        return $fault === null ? Amount::of($number) : throw $this->invalid($fault);
    }

    /** Returns seconds in ticks, rounded up. INF is the greatest wait. */
    public function patience(float $seconds): int
    {
        return match (true) {
            is_nan($seconds) => throw $this->invalid('must not be NAN'),
            $seconds < 0 => throw $this->invalid('must be greater than or equal to 0'),
            $seconds === INF => Quota::MOST,
            default => Seconds::toTicks($seconds),
        };
    }

    public function invalid(string $message): \ValueError
    {
        return new \ValueError($this->says($message));
    }

    public function wrong(string $message): \TypeError
    {
        return new \TypeError($this->says($message));
    }

    private function says(string $message): string
    {
        return "$this->function(): Argument #$this->position (\$$this->name) $message";
    }
}
