<?php

declare(strict_types=1);

use GuzzleHttp\Client;
use GuzzleHttp\HandlerStack;
use Psr\Http\Message\RequestInterface;
use TokenBucket\Bridge\HttpClient\Guzzle\RateLimit;

// The server allows 100 requests an hour.
$storage = new TokenBucketStorageSharedMemory('rates');
$bucketOf = fn (RequestInterface $request) => new TokenBucket($storage, $request->getUri()->getHost(), 100, 100 / TokenBucket::HOUR);

$stack = HandlerStack::create();
$stack->push(new RateLimit($bucketOf));
return new Client(['handler' => $stack]);
