<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\RateLimiter\RateLimiterFactory;

/** Limits the searches of each API key. Knows nothing of the bridge. */
final class SearchController
{
    public function __construct(private readonly RateLimiterFactory $searchLimiter)
    {
    }

    public function __invoke(Request $request): Response
    {
        $limit = $this->searchLimiter->create($request->query->get('key'))->consume();
        $body = $limit->isAccepted() ? "found\n" : "Too many requests\n";
        return new Response($body, $limit->isAccepted() ? 200 : 429, ['Content-Type' => 'text/plain', 'Content-Length' => strlen($body)]);
    }
}
