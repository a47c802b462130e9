<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Attribute\RateLimit;
use Symfony\Component\RateLimiter\RateLimiterFactory;

/** Limits its requests as Symfony's manual shows it, with the name of Symfony's final class. */
final class LimitedController
{
    public function __construct(private readonly RateLimiterFactory $apiLimiter)
    {
    }

    public function __invoke(Request $request): Response
    {
        if ($request->getPathInfo() === '/login') {
            return new Response();
        }
        $limit = $this->apiLimiter->create($request->getClientIp())->consume();
        return new Response('', $limit->isAccepted() ? 200 : 429, ['X-RateLimit-Remaining' => $limit->getRemainingTokens()]);
    }

    #[RateLimit('api')]
    public function attribute(): Response
    {
        return new Response();
    }

    #[RateLimit('both', key: 'everyone', tokens: 1)]
    public function compound(): Response
    {
        return new Response();
    }
}
