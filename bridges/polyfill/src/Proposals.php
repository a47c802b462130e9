<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/**
 * The first states that running bootstrap closures propose for buckets without a record.
 *
 * A proposal is not written. After the closure has returned, one step makes the record and takes
 * the tokens. So a slow closure can never refill a drained bucket. Fibers may interleave closures.
 */
final class Proposals
{
    /** @var list<object{identifier: string, fiber: ?\Fiber, first: ?int}> */
    private array $open = [];

    /** Runs a closure and returns the state that it proposed, or null. */
    public function during(string $identifier, \Closure $bootstrap): ?int
    {
        $proposal = (object) ['identifier' => $identifier, 'fiber' => \Fiber::getCurrent(), 'first' => null];
        $this->open[] = $proposal;
        try {
            $bootstrap();
        } finally {
            $this->open = array_values(array_filter($this->open, static fn ($other) => $other !== $proposal));
        }
        return $proposal->first;
    }

    /** Proposes a state to the latest closure for the bucket in this fiber. False without one. */
    public function propose(string $identifier, int $first): bool
    {
        foreach (array_reverse($this->open) as $proposal) {
            if ($proposal->identifier === $identifier && $proposal->fiber === \Fiber::getCurrent()) {
                $proposal->first = $first;
                return true;
            }
        }
        return false;
    }
}
