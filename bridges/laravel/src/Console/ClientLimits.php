<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Console;

use Closure;
use Illuminate\Http\Request;
use Illuminate\Http\Response;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use TokenBucket\Bridge\Laravel\Buckets;

/** Collects the limits that Laravel's middleware finds for a request, and decides nothing. */
final class ClientLimits extends LaravelThrottleRequests
{
    /** @var array<object> */
    private array $limits = [];

    /**
     * Returns the limits of a request, as Laravel's middleware describes them.
     *
     * @param list<string> $parameters of the middleware: the name of a limiter, or numbers
     * @return array<object>
     */
    public function of(Request $request, array $parameters): array
    {
        $this->limits = [];
        $this->handle($request, fn () => new Response(), ...$parameters);
        $isNamed = count($parameters) === 1 && $this->limiter->limiter($parameters[0]) !== null;
        Buckets::nameSources($this->limits, $isNamed ? '' : $parameters[0] . ',' . ($parameters[1] ?? 1));
        return $this->limits;
    }

    protected function handleRequest($request, Closure $next, array $limits)
    {
        foreach ($limits as $limit) {
            // Limit::none() in a list has this number.
            if ($limit->maxAttempts !== PHP_INT_MAX) {
                $limit->key = $this->limiter->cleanRateLimiterKey($limit->key);
                $this->limits[] = $limit;
            }
        }
        return $next($request);
    }
}
