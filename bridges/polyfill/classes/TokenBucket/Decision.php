<?php

declare(strict_types=1);

namespace TokenBucket;

use TokenBucket\Polyfill\Argument;
use TokenBucket\Polyfill\Fields;

final readonly class Decision implements \JsonSerializable
{
    use Polyfill\NotSerialized;

    public bool $allowed;
    public float $remaining;
    public float $capacity;
    public float $retryAfter;
    public float $resetAfter;
    public string $reason;
    public bool $fallback;
    public int|string|null $refusedBy;
    public ?string $unit;

    public function __construct(
        bool $allowed,
        float $remaining = 0.0,
        float $capacity = 0.0,
        float $retryAfter = 0.0,
        float $resetAfter = 0.0,
        string $reason = '',
        bool $fallback = false,
        int|string|null $refusedBy = null,
        ?string $unit = null
    ) {
        if (!is_finite($remaining)) {
            throw self::argument(2, 'remaining')->invalid('must be finite');
        }
        foreach ([3 => 'capacity', 4 => 'retryAfter', 5 => 'resetAfter'] as $position => $name) {
            if (is_nan($$name)) {
                throw self::argument($position, $name)->invalid('must not be NAN');
            }
            if ($$name < 0) {
                throw self::argument($position, $name)->invalid('must be greater than or equal to 0');
            }
        }
        // A real capacity is never 0.
        $capacity = $capacity === 0.0 ? max($remaining, 1.0) : $capacity;
        if ($remaining > $capacity) {
            throw self::argument(2, 'remaining')->invalid('must be less than or equal to argument #3 ($capacity)');
        }
        self::quoted($unit ?? '', self::argument(9, 'unit'));
        $this->allowed = $allowed;
        // Adding 0.0 turns -0.0 into 0.0.
        $this->remaining = $remaining + 0.0;
        $this->capacity = $capacity;
        $this->retryAfter = $retryAfter + 0.0;
        $this->resetAfter = $resetAfter + 0.0;
        $this->reason = $reason !== '' ? $reason : ($allowed ? 'granted' : 'insufficient_tokens');
        $this->fallback = $fallback;
        $this->refusedBy = $refusedBy;
        $this->unit = $unit;
    }

    public function jsonSerialize(): array
    {
        // JSON has no infinity.
        return array_map(static fn ($value) => is_float($value) && is_infinite($value) ? null : $value, get_object_vars($this));
    }

    public function headers(string $policy = 'default', bool $legacy = false): array
    {
        $policy = self::quoted($policy, new Argument(self::class . '::headers', 1, 'policy'));
        return Fields::of($this)->lines($policy, $legacy);
    }

    /** Returns a text as a string of a structured field (RFC 9651), in quotes. */
    private static function quoted(string $text, Argument $argument): string
    {
        if (preg_match('/[^\x20-\x7e]/', $text) === 1) {
            throw $argument->invalid('must contain only printable ASCII characters');
        }
        return '"' . addcslashes($text, '"\\') . '"';
    }

    private static function argument(int $position, string $name): Argument
    {
        return new Argument(self::class . '::__construct', $position, $name);
    }
}
