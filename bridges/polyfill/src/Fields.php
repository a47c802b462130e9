<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

use TokenBucket\Decision;

/**
 * The numbers of the HTTP fields of draft-ietf-httpapi-ratelimit-headers-11: tokens, and whole
 * seconds. They are rounded so that a client that follows them is not denied.
 */
final class Fields
{
    /** The greatest integer of a structured field (RFC 9651). */
    private const GREATEST = 999_999_999_999_999;
    private const BESIDE_TOKENS = ['contended', 'table_full', 'unavailable', 'too_many_concurrent', 'too_many_waiting', 'server_busy'];

    private function __construct(
        private readonly int $capacity,
        private readonly int $remaining,
        private readonly ?int $window,
        private ?int $reset,
        private readonly ?int $retryAfter,
        private int $fullAfter,
        private readonly string $unit = '',
    ) {}

    public static function of(Decision $decision): self
    {
        $answer = Answer::behind($decision);
        $next = LockoutAnswer::nextAfter($decision);
        $fields = match (true) {
            $answer !== null => self::ofAnswer($answer),
            $next !== null => self::ofLockout($decision, $next),
            default => self::ofProperties($decision),
        };
        if (in_array($decision->reason, self::BESIDE_TOKENS, true) && $fields->retryAfter !== null) {
            // These denials are not due to missing tokens. The time of a refill could make the
            // client wait for much longer than necessary.
            $fields->reset = null;
            $fields->fullAfter = max($fields->retryAfter, 1);
        }
        return $fields;
    }

    private static function ofAnswer(Answer $answer): self
    {
        $quota = $answer->quota;
        $remaining = max(0, min($answer->remaining, self::GREATEST));
        // The bucket holds one token when only the refill of the other tokens remains.
        $reset = match (true) {
            $answer->window !== null => $answer->resetAfter,
            $remaining > 0 => $quota->refill($remaining),
            default => max(0, $answer->resetAfter - ($quota->span - $quota->refill(1))),
        };
        $capacity = $quota->capacity->floor();
        if ($answer->floor > 0) {
            [$capacity, $remaining, $reset] = self::above($answer, $remaining);
        }
        $ends = !$answer->isAllowed() && $answer->retryAfter !== null;
        return new self(
            min($capacity, self::GREATEST),
            $remaining,
            $answer->window === null ? max(1, $quota->wholeSeconds($quota->span)) : intdiv($answer->window, Quota::SECOND),
            $quota->wholeSeconds($reset),
            $ends ? $quota->wholeSeconds($answer->retryAfter) : null,
            $quota->wholeSeconds($answer->resetAfter),
        );
    }

    /**
     * Returns the capacity, the remaining tokens and their refill without the tokens of the floor,
     * which are not for this caller.
     *
     * @return array{int, int, int}
     */
    private static function above(Answer $answer, int $remaining): array
    {
        $quota = $answer->quota;
        $above = static fn (int $ticks) => min($quota->tokens(max(0, $ticks - $answer->floor)), self::GREATEST);
        $remaining = min($remaining, $above(max(0, $quota->span - $answer->resetAfter)));
        $others = max(0, $quota->span - $quota->refill(1) - $answer->floor);
        $reset = $remaining === 0 ? max(0, $answer->resetAfter - $others) : $quota->refill($remaining);
        return [$above($quota->span), $remaining, $reset];
    }

    /** A lockout has no window. $next are the ticks of LockoutAnswer::nextAfter(). */
    private static function ofLockout(Decision $decision, int $next): self
    {
        $fields = self::ofProperties($decision);
        $reset = self::wholeSeconds(Seconds::fromTicks($next));
        return new self($fields->capacity, $fields->remaining, null, $reset, $fields->retryAfter, $fields->fullAfter);
    }

    /** The time per token follows from the time until the bucket is full. */
    private static function ofProperties(Decision $decision): self
    {
        [$remaining, $capacity] = [$decision->remaining, $decision->capacity];
        $token = fdiv($decision->resetAfter, $capacity - $remaining);
        $isKnown = is_finite($token) && $token > 0;
        $reset = $remaining >= 1 ? floor($remaining) * $token : $decision->resetAfter - max(0.0, $capacity - 1) * $token;
        $ends = !$decision->allowed && is_finite($decision->retryAfter);
        return new self(
            self::whole(floor($capacity)),
            self::whole(floor($remaining)),
            $isKnown ? max(1, self::wholeSeconds($capacity * $token)) : null,
            $isKnown ? self::wholeSeconds($reset) : null,
            $ends ? self::wholeSeconds($decision->retryAfter) : null,
            self::wholeSeconds($decision->resetAfter),
            (string) $decision->unit,
        );
    }

    /** Rounds seconds up. Ignores three microseconds, because the reply takes longer. */
    private static function wholeSeconds(float $seconds): int
    {
        return self::whole(ceil($seconds - 3e-6));
    }

    private static function whole(float $number): int
    {
        return is_nan($number) ? 0 : (int) max(0, min($number, self::GREATEST));
    }

    /**
     * @param string $policy the policy's name as a string of a structured field, in quotes
     * @return array<string, string> values by field name
     */
    public function lines(string $policy, bool $legacy): array
    {
        $unit = $this->unit === '' ? '' : ';qu="' . addcslashes($this->unit, '"\\') . '"';
        $lines = [
            'RateLimit-Policy' => "$policy;q=$this->capacity" . ($this->window === null ? '' : ";w=$this->window") . $unit,
            'RateLimit' => "$policy;r=$this->remaining" . ($this->reset === null ? '' : ";t=$this->reset"),
        ];
        if ($this->retryAfter !== null) {
            $lines['Retry-After'] = (string) $this->wait();
        }
        return $legacy ? $lines + $this->legacy() : $lines;
    }

    /**
     * Returns the fields of several decisions on one call.
     *
     * @param non-empty-list<string> $policies the names in quotes
     * @param non-empty-list<Decision> $decisions
     * @return array<string, string> values by field name
     */
    public static function joined(array $policies, array $decisions, bool $legacy): array
    {
        $all = array_map(self::of(...), $decisions);
        $lines = array_map(static fn (string $policy, self $fields) => $fields->lines($policy, false), $policies, $all);
        foreach (['RateLimit-Policy', 'RateLimit'] as $name) {
            $joined[$name] = implode(', ', array_column($lines, $name));
        }
        $waits = [];
        foreach ($all as $index => $fields) {
            if (!$decisions[$index]->allowed) {
                $waits[] = $fields->wait();
            }
        }
        // The call succeeds only after the longest wait. A denial without a wait never ends.
        if ($waits !== [] && !in_array(null, $waits, true)) {
            $joined['Retry-After'] = (string) max($waits);
        }
        if ($legacy) {
            // The legacy fields have no place for several limits.
            $left = array_map(static fn (self $fields) => $fields->remaining, $all);
            $joined += $all[array_search(min($left), $left, true)]->legacy();
        }
        return $joined;
    }

    /** Returns the value of Retry-After. A wait of 0 seconds would look like a grant. */
    private function wait(): ?int
    {
        return $this->retryAfter === null ? null : max($this->retryAfter, $this->reset ?? 0, 1);
    }

    /** @return array<string, string> values by field name */
    private function legacy(): array
    {
        return [
            'X-RateLimit-Limit' => (string) $this->capacity,
            'X-RateLimit-Remaining' => (string) $this->remaining,
            'X-RateLimit-Reset' => (string) (time() + $this->fullAfter),
        ];
    }
}
