<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;
use TokenBucket\Bridge\Symfony\CountedLimit;

/** Counts the responses to requests that a scanner sends, as the how-to shows it. */
final class RefusedRequests extends CountedLimit
{
    public function __construct(RateLimiterFactoryInterface $scanLimiter)
    {
        parent::__construct(
            $scanLimiter,
            key: fn (Request $request) => $request->getClientIp(),
            count: fn (Response $response) => in_array($response->getStatusCode(), [401, 404, 405], true) ? 1 : 0,
        );
    }
}
