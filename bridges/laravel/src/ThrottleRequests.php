<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel;

use Closure;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use RuntimeException;
use TokenBucket\Decision;

/**
 * Decides all limits of a request at once. A refused request takes no tokens.
 *
 * A limit with after() takes its token after the response, even if the bucket is empty by then.
 */
class ThrottleRequests extends LaravelThrottleRequests
{
    private int $retryAfter = 0;
    /** The literal numbers of a route, or an empty text for a named limiter. */
    private string $source = '';

    public function __construct(LaravelRateLimiter $limiter, private readonly Buckets $buckets)
    {
        parent::__construct($limiter);
    }

    public function handle($request, Closure $next, $maxAttempts = 60, $decayMinutes = 1, $prefix = '')
    {
        $isNamed = is_string($maxAttempts) && func_num_args() === 3 && $this->limiter->limiter($maxAttempts) !== null;
        $this->source = $isNamed ? '' : "$maxAttempts,$decayMinutes";
        return parent::handle(...func_get_args());
    }

    protected function handleRequest($request, Closure $next, array $limits)
    {
        if (!$this->limiter instanceof RateLimiter) {
            // If the application has replaced the bridge's limiter, the replacement decides the
            // limits itself.
            return parent::handleRequest($request, $next, $limits);
        }
        $before = $after = [];
        foreach ($this->named($limits) as $name => $limit) {
            if (isset($limit->afterCallback)) {
                $after[] = $limit;
                $this->refuse($request, $limit, $this->buckets->peek($limit));
            } else {
                $before[$name] = $limit;
            }
        }
        if ($before !== []) {
            [$decision, $limit] = $this->buckets->take($before);
            $this->refuse($request, $limit, $decision);
        }
        $response = $next($request);
        if ($before !== []) {
            $response = $this->addHeaders($response, Buckets::integer($decision->capacity), Buckets::integer($decision->remaining));
        }
        foreach ($after as $limit) {
            $counts = ($limit->afterCallback)($response);
            $decision = $counts ? $this->buckets->charge($limit) : $this->buckets->peek($limit);
            $response = $this->addHeaders($response, $limit->maxAttempts, max(0, Buckets::integer($decision->remaining)));
        }
        return $response;
    }

    /** Returns the limits with cleaned keys, and without Limit::none(). */
    private function named(array $limits): array
    {
        $limits = array_map(static fn (object $limit) => clone $limit, array_filter($limits, static fn (object $limit) => $limit->maxAttempts !== PHP_INT_MAX));
        foreach ($limits as $limit) {
            $limit->key = $this->limiter->cleanRateLimiterKey($limit->key);
        }
        Buckets::nameSources($limits, $this->source);
        return $limits;
    }

    /** Returns the seconds that buildException() sends. */
    protected function getTimeUntilNextRetry($key)
    {
        return $this->limiter instanceof RateLimiter ? $this->retryAfter : parent::getTimeUntilNextRetry($key);
    }

    /** @throws RuntimeException Laravel's exception, if the decision is a denial */
    private function refuse($request, ?object $limit, Decision $decision): void
    {
        if (!$decision->allowed) {
            $this->retryAfter = Buckets::retryAfter($decision, $limit);
            throw $this->buildException($request, $limit->key, $limit->maxAttempts, $limit->responseCallback);
        }
    }
}
