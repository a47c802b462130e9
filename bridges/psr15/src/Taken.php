<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Psr15;

use Psr\Http\Message\ResponseInterface;
use TokenBucket;
use TokenBucket\Decision;

/** The tokens that a request has taken from all its limits, or from none. */
final class Taken
{
    /** The highest integer of a structured field. headers() states it for larger numbers. */
    private const MAX_INTEGER = 999_999_999_999_999;

    /** The denial, or the grant with the fewest tokens left. */
    public readonly Decision $decision;
    /** The name of the limit that the decision describes. */
    public readonly string $limit;
    /** @var array<string, Hold> the tokens of limits that count responses */
    private array $holds = [];

    /**
     * @param array<string, Limit> $limits by name
     * @param non-empty-array<string, array{TokenBucket, int|float}> $charges the tokens to take
     */
    public function __construct(private readonly array $limits, array $charges)
    {
        $held = array_filter($charges, static fn (int|string $name) => $limits[$name]->countsResponses(), ARRAY_FILTER_USE_KEY);
        try {
            $decisions = $this->take($held, array_diff_key($charges, $held));
        } catch (\Throwable $e) {
            $this->cancel();
            throw $e;
        }
        uasort($decisions, static fn (Decision $a, Decision $b) => [$a->allowed, $a->remaining] <=> [$b->allowed, $b->remaining]);
        $this->limit = (string) array_key_first($decisions);
        $this->decision = $decisions[$this->limit];
        if (!$this->decision->allowed) {
            $this->cancel();
        }
    }

    /** Takes the tokens that the response costs, instead of those that were held for it. */
    public function settle(ResponseInterface $response): void
    {
        foreach ($this->holds as $name => $hold) {
            $hold->settle($this->limits[$name]->count($response));
        }
    }

    /** @return non-empty-array<string, Decision> by limit. Only the last one may be a denial */
    private function take(array $held, array $charges): array
    {
        $decisions = [];
        foreach ($held as $name => $charge) {
            $hold = new Hold(...$charge);
            $decisions[$name] = $hold->decision;
            if (!$hold->decision->allowed) {
                return $decisions;
            }
            $this->holds[$name] = $hold;
        }
        if ($charges !== []) {
            $decision = TokenBucket::attemptAll($charges);
            $decisions[$this->described($decision, array_keys($charges))] = $decision;
        }
        return $decisions;
    }

    private function cancel(): void
    {
        array_walk($this->holds, static fn (Hold $hold) => $hold->cancel());
        $this->holds = [];
    }

    /**
     * Returns the name of the limit that a decision of attemptAll() describes.
     *
     * A grant describes the limit with the fewest tokens left, but does not name it. It is
     * recognised by its numbers. If limits have equal numbers, the first of them is named.
     *
     * @param non-empty-list<int|string> $names
     */
    private function described(Decision $decision, array $names): int|string
    {
        foreach ($decision->refusedBy === null ? $names : [] as $name) {
            $limit = $this->limits[$name];
            $policy = sprintf('"%s";q=%d;w=%d', addcslashes($limit->name, '"\\'), min($limit->tokens, self::MAX_INTEGER), ceil($limit->seconds));
            if ($decision->headers($limit->name)['RateLimit-Policy'] === $policy) {
                return $name;
            }
        }
        return $decision->refusedBy ?? $names[0];
    }
}
