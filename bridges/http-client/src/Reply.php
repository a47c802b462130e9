<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient;

/**
 * Reads the fields of a reply that state a limit. A malformed field counts as missing. Of several
 * fields, the strictest value counts, because proxies repeat fields, and have limits of their own.
 */
final class Reply
{
    /** The formats of dates in RFC 9110, of which senders use the first one, and of ISO 8601. */
    private const DATES = ['D, d M Y H:i:s \G\M\T', 'l, d-M-y H:i:s \G\M\T', 'D M j H:i:s Y', 'Y-m-d\TH:i:sp', 'Y-m-d\TH:ip'];
    /**
     * The least Unix timestamps, by their units in a second: instants after the year 2001. Smaller
     * numbers are seconds from now.
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

    /** Returns the seconds until the time of Retry-After. */
    public function retryAfter(): ?float
    {
        $waits = $this->waits('retry-after');
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
        foreach (['x-ratelimit-', 'ratelimit-', 'x-rate-limit-'] as $prefix) {
            $remaining = array_map(self::number(...), self::elements(implode(',', $this->headers[$prefix . 'remaining'] ?? [])));
            if ($remaining !== [] && !in_array(null, $remaining, true) && min($remaining) < 1e15) {
                $resets = $this->waits($prefix . 'reset');
                $policies[] = [(int) min($remaining), $resets === [] ? null : max($resets)];
            }
        }
        // The policy with the fewest requests, and the longest time if several have as few.
        usort($policies, static fn (array $a, array $b) => [$a[0], -$a[1]] <=> [$b[0], -$b[1]]);
        return $policies[0] ?? [null, null];
    }

    /**
     * Returns the seconds until the times of a field. A time is a date, a Unix timestamp, or a
     * number of seconds. Ignores malformed lines.
     *
     * @return list<float>
     */
    private function waits(string $name): array
    {
        $waits = [];
        foreach ($this->headers[$name] ?? [] as $line) {
            $times = array_map($this->wait(...), self::elements($line));
            in_array(null, $times, true) || array_push($waits, ...$times);
        }
        return $waits;
    }

    private function wait(string $time): ?float
    {
        $number = self::number($time);
        foreach (self::TIMESTAMPS as $units => $least) {
            if ($number > $least) {
                return max(0.0, $number / $units - $this->date());
            }
        }
        $instant = $number === null ? self::timestamp($time) : null;
        return $instant === null ? $number : max(0.0, (float) ($instant - $this->date()));
    }

    /**
     * Reads RateLimit: "name";r=5;t=30 of draft 8 to 11, or limit=10, remaining=5, reset=30 of
     * draft 7.
     *
     * @return list<array{int, ?float}> the remaining requests and the seconds of each policy
     */
    private function policies(): array
    {
        // A quoted string may contain the other delimiters. If it does not end, nothing after it is
        // searched again.
        $field = preg_replace('/"(?:[^"\\\\]++|\\\\.)*+(*COMMIT)"/', 'string', implode(',', $this->headers['ratelimit'] ?? [])) ?? '';
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

    /** Returns the value of a field that has one value, or an empty string. */
    private function single(string $name): string
    {
        $values = array_unique(array_map(trim(...), $this->headers[$name] ?? []));
        return count($values) === 1 ? reset($values) : '';
    }

    /** Returns the reply's own date, because the clocks of both hosts may differ. */
    private function date(): int
    {
        return self::timestamp($this->single('date')) ?? time();
    }

    /** @return list<string> the elements of a list. As RFC 9110 permits, empty ones are ignored */
    private static function elements(string $list): array
    {
        // The name of a day in a date ends with a comma, too.
        $elements = preg_split('/(?<!Mon|Tue|Wed|Thu|Fri|Sat|Sun|day),/', $list);
        return array_values(array_filter(array_map(trim(...), $elements), static fn (string $element) => $element !== ''));
    }

    /** Returns a number, which may have parameters, as in 76;w=21600. */
    private static function number(string $text): ?float
    {
        return preg_match('/^(\d+(?:\.\d*)?)\s*(?:;.*)?$/D', $text, $found) ? (float) $found[1] : null;
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
