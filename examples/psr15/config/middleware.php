<?php

declare(strict_types=1);

use App\Application;
use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ServerRequestInterface;
use TokenBucket\Bridge\Psr15\{Limit, RateLimitMiddleware};

return static function (Application $application, ResponseFactoryInterface $responses): void {
    $ofKey = new Limit('key', tokens: 100, seconds: 3600, key: fn (ServerRequestInterface $request) => $request->getQueryParams()['key'] ?? '');
    $application->add(new RateLimitMiddleware($responses, new TokenBucketStorageSharedMemory('example'), [$ofKey], problem: true));
};
