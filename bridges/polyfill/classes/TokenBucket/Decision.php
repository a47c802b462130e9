<?php

declare(strict_types=1);

namespace TokenBucket;

use TokenBucket\Polyfill\Argument;
use TokenBucket\Polyfill\Fields;

final readonly class Decision implements \JsonSerializable
{
    use Polyfill\NotSerialized;

    /** The registry of problem types, which draft-ietf-httpapi-ratelimit-headers-11 extends. */
    private const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types#';

    /** The reasons of denials for which the service is the cause, and not the client. */
    private const REDUCED = ['below_floor', 'unavailable', 'contended', 'table_full', 'server_busy'];

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

    public function headers(string $policy = 'default', bool $legacy = false, ?string $partition = null): array
    {
        $policy = self::quoted($policy, new Argument(self::class . '::headers', 1, 'policy'));
        $key = $partition === null ? '' : ';pk=:' . base64_encode($partition) . ':';
        return Fields::of($this)->lines($policy . $key, $legacy);
    }

    public static function headersOf(array $decisions, bool $legacy = false): array
    {
        $argument = new Argument(self::class . '::headersOf', 1, 'decisions');
        if ($decisions === []) {
            throw $argument->invalid('must not be empty');
        }
        foreach ($decisions as $name => $decision) {
            if (!$decision instanceof self) {
                throw $argument->wrong('must contain only ' . self::class . ' objects');
            }
            $policies[] = self::quoted((string) $name, $argument, 'must have keys of printable ASCII characters');
        }
        return Fields::joined($policies, array_values($decisions), $legacy);
    }

    public function problem(array $policies = []): array
    {
        if ($this->allowed) {
            throw new \LogicException('A granted decision is no problem');
        }
        [$type, $title, $status] = in_array($this->reason, self::REDUCED, true)
            ? ['temporary-reduced-capacity', 'Request cannot be satisfied due to temporary server capacity constraints', 503]
            : ['quota-exceeded', 'Request cannot be satisfied as assigned quota has been exceeded', 429];
        $problem = ['type' => self::PROBLEM_TYPES . $type, 'title' => $title, 'status' => $status];
        foreach ($policies as $policy) {
            if (!is_string($policy) && !is_int($policy)) {
                throw (new Argument(self::class . '::problem', 1, 'policies'))->wrong('must contain only strings and integers');
            }
            $problem['violated-policies'][] = (string) $policy;
        }
        return $problem;
    }

    /** Returns a text as a string of a structured field (RFC 9651), in quotes. */
    private static function quoted(string $text, Argument $argument, string $fault = 'must contain only printable ASCII characters'): string
    {
        if (preg_match('/[^\x20-\x7e]/', $text) === 1) {
            throw $argument->invalid($fault);
        }
        return '"' . addcslashes($text, '"\\') . '"';
    }

    private static function argument(int $position, string $name): Argument
    {
        return new Argument(self::class . '::__construct', $position, $name);
    }
}
