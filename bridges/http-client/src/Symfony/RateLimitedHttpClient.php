<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Symfony;

use Symfony\Component\HttpClient\AsyncDecoratorTrait;
use Symfony\Component\HttpClient\MockHttpClient;
use Symfony\Component\HttpClient\Response\AsyncContext;
use Symfony\Component\HttpClient\Response\AsyncResponse;
use Symfony\Component\HttpClient\Response\MockResponse;
use Symfony\Contracts\HttpClient\ChunkInterface;
use Symfony\Contracts\HttpClient\HttpClientInterface;
use Symfony\Contracts\HttpClient\ResponseInterface;
use Symfony\Contracts\Service\ResetInterface;
use TokenBucket;
use TokenBucket\Bridge\HttpClient\Peer;
use TokenBucket\StorageException;

/**
 * Takes a token for each request, and pauses the request until the token is due. Decorate the
 * transport, so that each retry of RetryableHttpClient takes a token.
 *
 * If the wait would be too long, request() throws a DeniedException. If the server replies that its
 * limit is reached, the bucket denies for a time. The decorated client follows redirects on its
 * own, so their tokens are charged afterwards, to the bucket of the last URL. reset() changes no
 * bucket.
 */
final class RateLimitedHttpClient implements HttpClientInterface, ResetInterface
{
    use AsyncDecoratorTrait;

    private Urls $urls;
    private readonly \Closure $bucketOf;
    private readonly Peer $peer;

    /**
     * @param callable(string, string, array, string=): ?TokenBucket $bucketOf returns the bucket of
     *     a request with this method, URL and options, or null for a request without a limit. The
     *     URL is absolute, its host is in lower case, and it has the options base_uri and query. If
     *     the reply names the resource that its limit is about, as GitHub's do, the function is
     *     called again with this name. A bucket over a storage that is written in PHP cannot be
     *     used, because it has no reservations
     * @param float $maxWait the most seconds that a request waits for its token; 0 or more
     * @param float $maxBlock the most seconds for which one reply stops all requests of its bucket;
     *     0 to 1e9
     * @param bool $readRemaining true to lower the bucket to the remaining requests that a reply
     *     states in RateLimit or X-RateLimit-Remaining
     * @throws \ValueError if a number is out of range
     * @throws \LogicException if the extension is missing
     */
    public function __construct(HttpClientInterface $client, callable $bucketOf, float $maxWait = 0.0, float $maxBlock = 3600.0, bool $readRemaining = false)
    {
        $this->client = $client;
        $this->urls = Urls::of($client);
        $this->bucketOf = $bucketOf(...);
        $this->peer = new Peer($maxWait, $maxBlock, $readRemaining);
    }

    public function request(string $method, string $url, array $options = []): ResponseInterface
    {
        $bucket = ($this->bucketOf)($method, $this->urls->absolute($url, $options), $options);
        $obey = function (ChunkInterface $chunk, AsyncContext $context) use ($bucket, $method, $options): \Generator {
            static $charged = 0;
            $redirects = (int) $context->getInfo('redirect_count') - $charged;
            $isReply = $chunk->getError() === null && $chunk->isFirst();
            if ($isReply || $redirects > 0) {
                $charged += $redirects;
                $this->obey($bucket, $context, $method, $options, $redirects, $isReply);
            }
            yield $chunk;
        };
        if ($bucket === null) {
            return new AsyncResponse($this->client, $method, $url, $options, $obey);
        }
        try {
            $reservation = $bucket->reserve(1, $this->peer->maxWait);
        } catch (StorageException $error) {
            return self::answered($error);
        }
        if (!$reservation->decision->allowed) {
            throw new DeniedException($reservation->decision);
        }
        return new RateLimitedResponse($this->client, $method, $url, $options, $obey, $reservation);
    }

    public function withOptions(array $options): static
    {
        $clone = clone $this;
        $clone->client = $this->client->withOptions($options);
        $clone->urls = $this->urls->with($options);
        return $clone;
    }

    /**
     * Returns the response of the server if the store has failed at the token of a retry. The retry
     * is not sent. The response has no content, because RetryableHttpClient has cancelled it.
     *
     * @throws StorageException for a request without a response
     */
    private static function answered(StorageException $error): ResponseInterface
    {
        // Nothing else knows which request a request replaces.
        foreach (debug_backtrace(DEBUG_BACKTRACE_PROVIDE_OBJECT | DEBUG_BACKTRACE_IGNORE_ARGS) as $frame) {
            $context = $frame['object'] ?? null;
            if ($context instanceof AsyncContext && $frame['function'] === 'replaceRequest' && $context->getStatusCode() > 0) {
                error_log("tokenbucket/http-client: a retry was not sent: {$error->getMessage()}");
                $headers = array_diff_key($context->getHeaders(), ['content-length' => true]);
                $answer = new MockResponse('', ['http_code' => $context->getStatusCode(), 'response_headers' => $headers]);
                return new AsyncResponse(new MockHttpClient($answer), 'GET', $context->getInfo('url'), ['buffer' => false]);
            }
        }
        throw $error;
    }

    /** Charges redirects of a request, and slows its bucket down as the reply asks. */
    private function obey(?TokenBucket $bucket, AsyncContext $context, string $method, array $options, int $redirects, bool $isReply): void
    {
        $url = $this->urls->absolute($context->getInfo('url'));
        $bucketOf = function (?string $resource) use ($bucket, $url, $method, $options, $redirects): ?TokenBucket {
            if ($redirects > 0) {
                $bucket = ($this->bucketOf)($method, $url, $options);
                $bucket?->charge($redirects);
            }
            return $resource === null || $bucket === null ? $bucket : ($this->bucketOf)($method, $url, $options, $resource);
        };
        $this->peer->learn($bucketOf, $isReply ? $context->getStatusCode() : 0, $isReply ? $context->getHeaders() : []);
    }
}
