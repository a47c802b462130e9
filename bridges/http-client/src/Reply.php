<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient;

/**
 * Reads the fields of a reply that state a limit. A malformed field counts as missing. Of a field
 * that occurs several times, the strictest value counts, because proxies repeat fields.
 */
final class Reply
{
    /** The formats of dates in RFC 9110. Senders use the first one. */
    private const DATES = ['D, d M Y H:i:s \G\M\T', 'l, d-M-y H:i:s \G\M\T', 'D M j H:i:s Y'];
    /**
     * The least Unix timestamps in X-RateLimit-Reset, by their units in a second: instants after
     * the year 2001. Smaller numbers are seconds from now.
     */
    private const TIMESTAMPS = [1_000_000_000 => 1e18, 1_000_000 => 1e15, 1_000 => 1e12, 1 => 1e9];

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

    /** Returns the resource that the limit is about, such as "search" on GitHub, or null. */
    public function resource(): ?string
    {
        return $this->single('x-ratelimit-resource') ?: null;
    }

    /** Returns the seconds of Retry-After. If it is a date, subtracts the date of the reply. */
    public function retryAfter(): ?float
    {
        $waits = [];
        foreach ($this->headers['retry-after'] ?? [] as $value) {
            $instant = self::timestamp(trim($value));
            array_push($waits, ...$instant === null ? self::numbers($value) : [max(0.0, (float) ($instant - $this->date()))]);
        }
        return $waits === [] ? null : max($waits);
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
            $remaining = self::numbers(implode(',', $this->headers[$prefix . 'remaining'] ?? []));
            if ($remaining !== [] && min($remaining) < 1e15) {
                $resets = self::numbers(implode(',', $this->headers[$prefix . 'reset'] ?? []));
                return [(int) min($remaining), $resets === [] ? null : max(array_map($this->seconds(...), $resets))];
            }
        }
        return [null, null];
    }

    /** Returns the seconds until a number of X-RateLimit-Reset. */
    private function seconds(float $reset): float
    {
        foreach (self::TIMESTAMPS as $units => $least) {
            if ($reset > $least) {
                return max(0.0, $reset / $units - $this->date());
            }
        }
        return $reset;
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
        $field = preg_replace('/"(?:[^"\\\\]++|\\\\.)*+"/', 'string', implode(',', $this->headers['ratelimit'] ?? [])) ?? '';
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

    /** @return list<float> the numbers of a list, or an empty list if it is malformed */
    private static function numbers(string $list): array
    {
        // RFC 9110 lets recipients ignore empty elements.
        $elements = array_filter(array_map(trim(...), explode(',', $list)), static fn (string $element) => $element !== '');
        $invalid = preg_grep('/^\d+(\.\d*)?$/D', $elements, PREG_GREP_INVERT);
        return $invalid === [] ? array_map(floatval(...), array_values($elements)) : [];
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
