<?php

declare(strict_types=1);

namespace TokenBucket;

use TokenBucket\Polyfill\HeldPermit;

final readonly class Permit
{
    use Polyfill\NotCopied;

    public Decision $decision;

    private ?HeldPermit $held;

    /** Distinguishes the object from a copy, which PHP destroys when __clone() throws. */
    private int $number;

    private function __construct(Decision $decision, ?HeldPermit $held)
    {
        $this->decision = $decision;
        $this->held = $held;
        $this->number = spl_object_id($this);
    }

    public function __destruct()
    {
        if ($this->number === spl_object_id($this)) {
            $this->release();
        }
    }

    public function release(): void
    {
        $this->held?->release();
    }

    public function renew(): bool
    {
        return $this->held !== null && $this->held->isHeld();
    }
}
