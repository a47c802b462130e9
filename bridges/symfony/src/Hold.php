<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use TokenBucket;
use TokenBucket\Decision;
use TokenBucket\Quota;
use TokenBucket\Reservation;

/** The tokens that a request takes before its response is counted. */
final class Hold
{
    public readonly Decision $decision;
    /** Null for a quota, which has no reservations. */
    private readonly ?Reservation $reservation;
    /** The window of a quota. */
    private readonly ?array $window;

    public function __construct(private readonly TokenBucket $bucket, private readonly int $tokens)
    {
        // If a window begins in between, attempt() takes a token of the new window, and keeps it.
        $this->window = $bucket instanceof Quota ? $bucket->window() : null;
        // Unlike settle(), a reservation knows when it took its tokens. So cancel() does not give
        // back those that have been refilled since.
        $this->reservation = $bucket instanceof Quota ? null : $bucket->reserve($tokens, 0.0);
        $this->decision = $this->reservation?->decision ?? $bucket->attempt($tokens);
        if ($this->reservation !== null && $this->decision->allowed) {
            // Rounding may let it begin a microsecond early.
            $this->reservation->wait();
        }
    }

    /** Takes $counted tokens in all. */
    public function settle(int|float $counted): void
    {
        if ($counted == 0 && $this->reservation !== null) {
            $this->reservation->cancel();
        } elseif ($counted > $this->tokens || ($counted < $this->tokens && $this->isCurrent())) {
            $this->bucket->settle($this->tokens, $counted);
        }
    }

    /** Returns false if the window of the tokens has ended. The next one has all its tokens. */
    private function isCurrent(): bool
    {
        return $this->window === null || $this->window == $this->bucket->window();
    }
}
