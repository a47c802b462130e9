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
    /**
     * The attribute of the request that tells the application what was decided: an array with a
     * Decision under the name of each limiter, or under its numbers, such as "60,1".
     */
    public const DECISIONS = 'tokenbucket.decisions';

    private int $retryAfter = 0;
    private string $name = '';
    /** The literal numbers of a route, or an empty text for a named limiter. */
    private string $source = '';

    /** @param bool $observe true to deny nothing and to send no headers */
    public function __construct(LaravelRateLimiter $limiter, private readonly Buckets $buckets, private readonly bool $observe = false)
    {
        parent::__construct($limiter);
    }

    public function handle($request, Closure $next, $maxAttempts = 60, $decayMinutes = 1, $prefix = '')
    {
        $isNamed = is_string($maxAttempts) && func_num_args() === 3 && $this->limiter->limiter($maxAttempts) !== null;
        $this->name = $isNamed ? $maxAttempts : "$maxAttempts,$decayMinutes";
        $this->source = $isNamed ? '' : $this->name;
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
        $isDenied = !($request->attributes->get(self::DECISIONS)[$this->name]->allowed ?? true);
        $response = $next($request);
        if ($isDenied) {
            // Only the observe mode comes here. A denied request would cost nothing.
            return $response;
        }
        if ($before !== [] && !$this->observe) {
            $response = $this->addHeaders($response, Buckets::integer($decision->capacity), Buckets::integer($decision->remaining));
        }
        foreach ($after as $limit) {
            $counts = ($limit->afterCallback)($response);
            $decision = $counts ? $this->buckets->charge($limit) : $this->buckets->peek($limit);
            $remaining = max(0, Buckets::integer($decision->remaining));
            $response = $this->observe ? $response : $this->addHeaders($response, $limit->maxAttempts, $remaining);
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

    /**
     * Notes the decision in the request.
     *
     * @throws RuntimeException Laravel's exception, if the decision is a denial
     */
    private function refuse($request, ?object $limit, Decision $decision): void
    {
        $decisions = $request->attributes->get(self::DECISIONS, []);
        if ($decisions[$this->name]->allowed ?? true) {
            $request->attributes->set(self::DECISIONS, [$this->name => $decision] + $decisions);
        }
        if (!$decision->allowed && !$this->observe) {
            $this->retryAfter = Buckets::retryAfter($decision, $limit);
            throw $this->buildException($request, $limit->key, $limit->maxAttempts, $limit->responseCallback);
        }
    }
}
