<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Symfony\Component\RateLimiter\RateLimit as SymfonyRateLimit;
use TokenBucket\Decision;

/** Adds to Symfony's result the decision, which has headers() and the exact times. */
final class RateLimit extends SymfonyRateLimit
{
    private readonly float $retryAt;
    private readonly float $resetAt;

    /**
     * @param float $wait seconds after which the call should be repeated. getRetryAfter() rounds
     *     the instant up to a second, so that a header in whole seconds is never too early
     * @param ?int $limit the limiter's limit, or null for the capacity of the bucket
     */
    private function __construct(public readonly Decision $decision, bool $accepted, float $wait, ?int $limit)
    {
        // A call that never succeeds has an infinite wait, which no date can state. So a year is
        // stated.
        $this->retryAt = microtime(true) + (is_finite($wait) ? $wait : 31_536_000);
        $this->resetAt = microtime(true) + $decision->resetAfter;
        $date = self::date($wait > 0 ? $this->retryAt : floor($this->retryAt));
        $limit ??= self::integer($decision->capacity);
        parent::__construct(max(0, min($limit, self::integer($decision->remaining))), $date, $accepted, $limit);
    }

    /**
     * Describes a call that took its tokens, or was denied.
     *
     * @param bool $ofQuota true if all tokens come back at once, at the end of a window
     */
    public static function of(Decision $decision, ?int $limit = null, bool $ofQuota = false): self
    {
        $wait = $decision->retryAfter;
        if ($decision->allowed && $decision->remaining < 1) {
            // The average time of a missing token. The bucket holds a token by then.
            $wait = $decision->resetAfter / ($ofQuota ? 1 : $decision->capacity - $decision->remaining);
        }
        return new self($decision, $decision->allowed, $wait, $limit);
    }

    /** Describes a call for no tokens, which Symfony accepts in any case. */
    public static function ofPeek(Decision $decision, ?int $limit = null): self
    {
        return new self($decision, true, $decision->retryAfter, $limit);
    }

    /** Describes a reservation, whose tokens may be used after some seconds. */
    public static function ofReservation(Decision $decision, float $delay, ?int $limit = null): self
    {
        return $delay > 0 ? new self($decision, false, $delay, $limit) : self::of($decision, $limit);
    }

    /** Returns the time at which the limiter has all its tokens, rounded up to a second. */
    public function getResetAt(): \DateTimeImmutable
    {
        return self::date($this->resetAt);
    }

    public function wait(): void
    {
        (new Reservation($this->retryAt, $this))->wait();
    }

    /** Serialises the properties, because a decision is not serialisable. */
    public function __serialize(): array
    {
        return [
            'decision' => get_object_vars($this->decision),
            'retryAt' => $this->retryAt,
            'resetAt' => $this->resetAt,
            'symfony' => [$this->getRemainingTokens(), $this->getRetryAfter(), $this->isAccepted(), $this->getLimit()],
        ];
    }

    public function __unserialize(array $data): void
    {
        $this->decision = new Decision(...$data['decision']);
        $this->retryAt = $data['retryAt'];
        $this->resetAt = $data['resetAt'];
        parent::__construct(...$data['symfony']);
    }

    private static function date(float $instant): \DateTimeImmutable
    {
        // As in Symfony, in UTC.
        return \DateTimeImmutable::createFromFormat('U', (string) (int) ceil($instant));
    }

    /** Returns the nearest integer below, because a capacity may be beyond the integers. */
    private static function integer(float $tokens): int
    {
        return $tokens >= PHP_INT_MAX ? PHP_INT_MAX : (int) $tokens;
    }
}
