<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** A permit that this process took. */
final class HeldPermit
{
    private readonly int $process;

    private bool $isReleased = false;

    /**
     * @param int $free an estimate of the permits that are still free
     * @param \Closure(): void $release gives the permit back
     * @param \Closure(): bool $isHeld reports whether no other process can have taken it
     * @param bool $isShared true if a forked child has a copy of the permit that it does not hold
     */
    public function __construct(
        public readonly int $free,
        private readonly \Closure $release,
        private readonly \Closure $isHeld,
        private readonly bool $isShared,
    ) {
        $this->process = Process::id();
    }

    public function isHeld(): bool
    {
        return !$this->isReleased && $this->isMine() && ($this->isHeld)();
    }

    /** Gives the permit back, once. */
    public function release(): void
    {
        if (!$this->isReleased && $this->isMine()) {
            $this->isReleased = true;
            ($this->release)();
        }
    }

    private function isMine(): bool
    {
        return !$this->isShared || $this->process === Process::id();
    }
}
