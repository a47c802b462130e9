<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Psr15;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use TokenBucket;
use TokenBucketStorage;

/**
 * Limits requests that have the same key. The bucket holds $tokens and refills from empty to full
 * in $seconds. So 10 tokens in 60 seconds allow 10 requests at once, and then 10 requests in each
 * minute.
 */
final class Limit
{
    /** At most about 31 years, because a bucket must refill in at most 36 years. */
    public readonly float $seconds;

    /**
     * @param string $name the policy's name in the headers and in the log: printable ASCII
     * @param int $tokens the most requests at once; greater than 0
     * @param float $seconds the time in which an empty bucket becomes full; greater than 0
     * @param \Closure(ServerRequestInterface): ?string $key returns the limited client or user, or
     *     null if this limit does not apply to the request
     * @param null|\Closure(ServerRequestInterface): (int|float) $cost returns the tokens that a
     *     request takes; 1 without this function
     * @param null|\Closure(ResponseInterface): (int|float) $count returns the tokens that a
     *     response costs. The request takes its tokens first, and then the difference is given back
     *     or charged. The storage must be one of the extension's own
     */
    public function __construct(
        public readonly string $name,
        public readonly int $tokens,
        float $seconds,
        private readonly \Closure $key,
        private readonly ?\Closure $cost = null,
        private readonly ?\Closure $count = null,
    ) {
        if (preg_match('/[^ -~]/', $name)) {
            throw new \ValueError('The name of a limit must contain only printable ASCII characters');
        }
        if ($tokens <= 0 || !($seconds > 0)) {
            throw new \ValueError("The tokens and seconds of the limit \"$name\" must be greater than 0");
        }
        // A bucket gains at most 10^15 tokens a second.
        $this->seconds = max(min($seconds, 1e9), $tokens / 1e15);
    }

    /** @return null|array{TokenBucket, int|float} an element for TokenBucket::attemptAll() */
    public function charge(TokenBucketStorage $storage, ServerRequestInterface $request): ?array
    {
        $key = ($this->key)($request);
        if ($key === null) {
            return null;
        }
        // The numbers may be computed for each request, so they are no part of the identifier. The
        // length of the name comes first, so that no other name and key make the same identifier.
        $identifier = strlen($this->name) . ":$this->name:$key";
        // Rounding may exceed the highest rate.
        $bucket = new TokenBucket($storage, $identifier, $this->tokens, min(1e15, $this->tokens / $this->seconds));
        return [$bucket, $this->cost === null ? 1 : ($this->cost)($request)];
    }

    public function countsResponses(): bool
    {
        return $this->count !== null;
    }

    /** Returns the tokens that a response costs, if countsResponses(). */
    public function count(ResponseInterface $response): int|float
    {
        return ($this->count)($response);
    }
}
