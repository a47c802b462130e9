<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * The first state that a bootstrap closure proposes for a bucket without a record.
 *
 * A proposal is not written. After the closure has returned, one step makes the record and takes
 * the tokens. So a slow closure can never refill a drained bucket.
 */
final class Proposal
{
    private ?int $first = null;

    private readonly ?\Fiber $fiber;

    public function __construct(private readonly Home $home, private readonly string $identifier)
    {
        $this->fiber = \Fiber::getCurrent();
    }

    /** Runs a closure and returns the state that it proposed, or null. */
    public function during(\Closure $bootstrap): ?int
    {
        $bootstrap();
        return $this->first;
    }

    /** Proposes a state to the latest closure that runs for the bucket in this fiber, if any. */
    public static function isMade(Home $home, string $identifier, int $first): bool
    {
        // The backtrace has only closures that still run. A list of them would also keep those that
        // a fatal error ended, because such an error throws no exception.
        foreach (debug_backtrace(DEBUG_BACKTRACE_PROVIDE_OBJECT | DEBUG_BACKTRACE_IGNORE_ARGS) as $frame) {
            $it = $frame['object'] ?? null;
            if ($it instanceof self && $it->home === $home && $it->identifier === $identifier && $it->fiber === \Fiber::getCurrent()) {
                $it->first = $first;
                return true;
            }
        }
        return false;
    }
}
