<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Psr15;

use TokenBucket;
use TokenBucket\Decision;
use TokenBucket\Reservation;

/** The tokens that a request takes before its response is counted. */
final class Hold
{
    public readonly Decision $decision;
    private readonly Reservation $reservation;

    public function __construct(private readonly TokenBucket $bucket, private readonly int|float $tokens)
    {
        // Unlike settle(), a reservation knows when it took its tokens. So cancel() does not give
        // back those that have been refilled since.
        $this->reservation = $bucket->reserve($tokens, 0.0);
        $this->decision = $this->reservation->decision;
        if ($this->decision->allowed) {
            // Rounding may let it begin a microsecond early.
            $this->reservation->wait();
        }
    }

    public function cancel(): void
    {
        $this->reservation->cancel();
    }

    /** Takes $counted tokens in all. */
    public function settle(int|float $counted): void
    {
        if ($counted == 0) {
            $this->cancel();
        } elseif ($counted != $this->tokens) {
            $this->bucket->settle($this->tokens, $counted);
        }
    }
}
