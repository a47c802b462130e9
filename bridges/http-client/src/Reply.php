<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient;

/** Reads the fields of a reply that state a limit. A malformed field counts as missing. */
final class Reply
{
    /** The formats of dates in RFC 9110. Senders use the first one. */
    private const DATES = ['D, d M Y H:i:s \G\M\T', 'l, d-M-y H:i:s \G\M\T', 'D M j H:i:s Y'];
    /** Larger numbers of X-RateLimit-Reset are Unix timestamps. Smaller ones are seconds. */
    private const OLDEST_TIMESTAMP = 1_000_000_000;

    /** @var array<string, list<string>> */
    private readonly array $headers;

    /** @param array<string, list<string>> $headers by name */
    public function __construct(array $headers)
    {
        $this->headers = array_change_key_case($headers);
    }

    /** Reports whether a reply with the status 403 denies because of a limit, as GitHub's do. */
    public function isDenial(): bool
    {
        return isset($this->headers['retry-after']) || $this->remaining()[0] === 0;
    }

    /** Returns the seconds of Retry-After. If it is a date, subtracts the date of the reply. */
    public function retryAfter(): ?float
    {
        $value = $this->single('retry-after');
        if (preg_match('/^\d+$/D', $value)) {
            return (float) $value;
        }
        $instant = self::timestamp($value);
        return $instant === null ? null : max(0.0, $instant - $this->date());
    }

    /**
     * Returns the requests that are left, and the seconds until there are more, or null for each
     * that is not stated.
     *
     * @return array{?int, ?float}
     */
    public function remaining(): array
    {
        $policies = $this->policies();
        if ($policies !== []) {
            // The policy with the fewest requests, and the longest time if several have as few.
            usort($policies, static fn (array $a, array $b) => [$a[0], -$a[1]] <=> [$b[0], -$b[1]]);
            return $policies[0];
        }
        foreach (['x-ratelimit-', 'ratelimit-'] as $prefix) {
            $remaining = self::integer($this->single($prefix . 'remaining'));
            if ($remaining !== null) {
                $reset = self::integer($this->single($prefix . 'reset'));
                $start = $reset > self::OLDEST_TIMESTAMP ? $this->date() : 0;
                return [$remaining, $reset === null ? null : max(0.0, (float) ($reset - $start))];
            }
        }
        return [null, null];
    }

    /**
     * Reads RateLimit: "name";r=5;t=30 of draft 8 to 11, or limit=10, remaining=5, reset=30 of
     * draft 7.
     *
     * @return list<array{int, ?float}> the remaining requests and the seconds of each policy
     */
    private function policies(): array
    {
        // A quoted string may contain the other delimiters.
        $field = preg_replace('/"(?:[^"\\\\]|\\\\.)*"/', 'string', implode(',', $this->headers['ratelimit'] ?? []));
        if (preg_match('/(^|,)\s*remaining=/', $field)) {
            $field = 'draft-7;' . strtr($field, [',' => ';', 'remaining=' => 'r=', 'reset=' => 't=']);
        }
        $policies = [];
        foreach (explode(',', $field) as $member) {
            if (!preg_match('/^\s*[A-Za-z*][^\s;="]*((?:;\s*[a-z*][\w.*-]*(?:=[^\s;"]+)?)*)\s*$/D', $member, $found)) {
                return [];
            }
            $parameters = [];
            foreach (explode(';', $found[1]) as $parameter) {
                [$name, $value] = explode('=', trim($parameter), 2) + [1 => ''];
                $parameters[$name] = self::integer($value);
            }
            if (isset($parameters['r'])) {
                $policies[] = [$parameters['r'], isset($parameters['t']) ? (float) $parameters['t'] : null];
            }
        }
        return $policies;
    }

    /** Returns the value of a field that occurs once, or an empty string. */
    private function single(string $name): string
    {
        $values = $this->headers[$name] ?? [];
        return count($values) === 1 ? trim(reset($values)) : '';
    }

    /** Returns the reply's own date, because the clocks of both hosts may differ. */
    private function date(): int
    {
        return self::timestamp($this->single('date')) ?? time();
    }

    private static function integer(string $value): ?int
    {
        return preg_match('/^\d{1,15}$/D', $value) ? (int) $value : null;
    }

    private static function timestamp(string $value): ?int
    {
        foreach (self::DATES as $format) {
            $date = \DateTimeImmutable::createFromFormat("!$format", $value, new \DateTimeZone('UTC'));
            // PHP reads a day beyond the end of a month as a day of the next month.
            if ($date !== false && $date->format($format) === str_replace('  ', ' ', $value)) {
                return $date->getTimestamp();
            }
        }
        return null;
    }
}
