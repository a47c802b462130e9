<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Guzzle;

use GuzzleHttp\Exception\TransferException;
use Psr\Http\Message\RequestInterface;
use TokenBucket\Decision;

/** Reports that a request was not sent, because its bucket denied the token. */
final class DeniedException extends TransferException
{
    public function __construct(public readonly Decision $decision, RequestInterface $request)
    {
        $message = sprintf('The request was not sent: %s, retry after %.3F s', $decision->reason, $decision->retryAfter);
        // In Guzzle 8, the constructor takes the request, too.
        method_exists(parent::class, 'getRequest') ? parent::__construct($message, $request) : parent::__construct($message);
    }
}
