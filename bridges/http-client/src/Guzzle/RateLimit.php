<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Guzzle;

use GuzzleHttp\Promise\Create;
use GuzzleHttp\Promise\Promise;
use GuzzleHttp\Promise\PromiseInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\ResponseInterface;
use TokenBucket;
use TokenBucket\Bridge\HttpClient\Peer;
use TokenBucket\Reservation;
use TokenBucket\StorageException;

/**
 * Takes a token for each request, and waits for it if necessary. Push this middleware last onto the
 * handler stack, so that each redirect and each retry takes a token.
 *
 * The request is sent when its token is due. A synchronous request sleeps until then. A request of
 * a pool keeps its place in the pool. If the wait would be too long, the promise is rejected with a
 * DeniedException. If the server replies that its limit is reached, the bucket denies for a time.
 */
final class RateLimit
{
    private readonly \Closure $bucketOf;
    private readonly Peer $peer;
    /** @var \WeakMap<RequestInterface, ResponseInterface> the last responses, for retries */
    private readonly \WeakMap $answers;

    /**
     * @param callable(RequestInterface, string=): ?TokenBucket $bucketOf returns the bucket of a
     *     request, or null for a request without a limit. If the reply names the resource that its
     *     limit is about, as GitHub's do, the function is called again with this name. A bucket
     *     over a storage that is written in PHP cannot be used, because it has no reservations
     * @param float $maxWait the most seconds that a request waits for its token; 0 or more
     * @param float $maxBlock the most seconds for which one reply stops all requests of its bucket;
     *     0 to 1e9
     * @param bool $readRemaining true to lower the bucket to the remaining requests that a reply
     *     states in RateLimit or X-RateLimit-Remaining
     * @throws \ValueError if a number is out of range
     * @throws \LogicException if the extension is missing
     */
    public function __construct(callable $bucketOf, float $maxWait = 0.0, float $maxBlock = 3600.0, bool $readRemaining = false)
    {
        $this->bucketOf = $bucketOf(...);
        $this->peer = new Peer($maxWait, $maxBlock, $readRemaining);
        $this->answers = new \WeakMap();
    }

    /** @param callable(RequestInterface, array): PromiseInterface $handler */
    public function __invoke(callable $handler): \Closure
    {
        return function (RequestInterface $request, array $options) use ($handler): PromiseInterface {
            $bucket = ($this->bucketOf)(self::named($request));
            if ($bucket === null) {
                return $handler($request, $options);
            }
            try {
                $reservation = $bucket->reserve(1, $this->peer->maxWait);
            } catch (StorageException $error) {
                return self::answered($this->answers[$request] ?? null, $options['retries'] ?? 0, $error);
            }
            if (!$reservation->decision->allowed) {
                return Create::rejectionFor(new DeniedException($reservation->decision, $request));
            }
            $due = hrtime(true) + $reservation->delay * 1e9;
            if ($reservation->delay > 0) {
                $options = self::delayed($options, $reservation);
            }
            try {
                $sent = $handler($request, $options);
            } catch (\InvalidArgumentException $error) {
                // The handler has refused the options. Other exceptions may come from a callback
                // during the transfer.
                $reservation->cancel();
                throw $error;
            }
            return self::cancelling($this->obeying($sent, $request, $bucket), $reservation, $due);
        };
    }

    /**
     * Returns the response of the server if the store has failed at the token of a retry. The retry
     * is not sent.
     *
     * @throws StorageException for a request without a response
     */
    private static function answered(?ResponseInterface $answer, int $retries, StorageException $error): PromiseInterface
    {
        if ($answer === null || $retries === 0) {
            throw $error;
        }
        error_log("tokenbucket/http-client: a retry was not sent: {$error->getMessage()}");
        return Create::promiseFor($answer);
    }

    /**
     * Returns options with which a handler sends the request when its token is due. The option
     * "delay" is in milliseconds. A retry may already have a longer one.
     */
    private static function delayed(array $options, Reservation $reservation): array
    {
        $delay = $options['delay'] ?? 0;
        $isSlept = ($options['synchronous'] ?? false) || ($options['stream'] ?? false) || !function_exists('curl_multi_exec');
        if (!$isSlept) {
            return ['delay' => max($delay, (int) ceil($reservation->delay * 1000))] + $options;
        }
        // The handlers of these requests sleep, and a signal would end their sleep.
        $reservation->wait();
        return isset($options['delay']) ? ['delay' => max(0, $delay - (int) ($reservation->delay * 1000))] + $options : $options;
    }

    /** Returns a request whose host is in lower case, without the dot that may end it. */
    private static function named(RequestInterface $request): RequestInterface
    {
        $host = preg_replace('/\.$/D', '', strtolower($request->getUri()->getHost()));
        return $host === $request->getUri()->getHost() ? $request : $request->withUri($request->getUri()->withHost($host), true);
    }

    /**
     * Returns a promise with the same result. Before it resolves, the response slows the bucket
     * down.
     */
    private function obeying(PromiseInterface $sent, RequestInterface $request, TokenBucket $bucket): PromiseInterface
    {
        $bucketOf = fn (?string $resource) => $resource === null ? $bucket : ($this->bucketOf)(self::named($request), $resource);
        $obey = fn (ResponseInterface $response) => $this->peer->learn($bucketOf, $response->getStatusCode(), $response->getHeaders());
        return $sent->then(
            function (ResponseInterface $response) use ($obey, $request): ResponseInterface {
                $obey($response);
                $this->answers[$request] = $response;
                return $response;
            },
            static function (mixed $reason) use ($obey): PromiseInterface {
                // If the transfer failed after the headers, the exception has the response.
                $response = is_object($reason) && method_exists($reason, 'getResponse') ? $reason->getResponse() : null;
                $response === null || $obey($response);
                return Create::rejectionFor($reason);
            },
        );
    }

    /** Returns a promise that gives the token back if it is cancelled before the token is due. */
    private static function cancelling(PromiseInterface $sent, Reservation $reservation, float $due): PromiseInterface
    {
        $promise = new Promise(
            static fn () => $sent->wait(false),
            static function () use ($sent, $reservation, $due): void {
                if (hrtime(true) < $due) {
                    $reservation->cancel();
                }
                $sent->cancel();
            },
        );
        $sent->then($promise->resolve(...), $promise->reject(...));
        return $promise;
    }
}
