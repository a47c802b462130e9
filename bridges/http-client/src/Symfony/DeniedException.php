<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Symfony;

use Symfony\Contracts\HttpClient\Exception\TransportExceptionInterface;
use TokenBucket\Decision;

/** Reports that a request was not sent, because its bucket denied the token. */
final class DeniedException extends \RuntimeException implements TransportExceptionInterface
{
    public function __construct(public readonly Decision $decision)
    {
        parent::__construct(sprintf('The request was not sent: %s, retry after %.3F s', $decision->reason, $decision->retryAfter));
    }
}
