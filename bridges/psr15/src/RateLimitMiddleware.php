<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Psr15;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Psr\Log\LoggerInterface;
use TokenBucket;
use TokenBucket\Decision;
use TokenBucketStorage;

/**
 * Denies requests that exceed a limit. A request takes its tokens from all limits, or from none.
 *
 * A denial is a response with the status 429. The status is 503 if the client has done nothing
 * wrong: the store failed and its policy is OnFailure::Deny, or the store could not decide. Every
 * response that passes this middleware states the limit in the headers of
 * draft-ietf-httpapi-ratelimit-headers-11.
 */
final class RateLimitMiddleware implements MiddlewareInterface
{
    /** The highest integer of a structured field. headers() states it for larger numbers. */
    private const MAX_INTEGER = 999_999_999_999_999;

    /** @var array<string, Limit> by name */
    private readonly array $limits;

    /**
     * @param list<Limit> $limits limits with different names
     * @param bool $problem true to send a body of the type application/problem+json with a denial
     * @param bool $observe true to log denials and to deny nothing. No headers are sent then
     * @param ?LoggerInterface $logger gets one message for each denial, without the key
     * @param ?\Closure(\Throwable, ServerRequestInterface): ResponseInterface $errors makes the
     *     response to an exception of the handler, so that it has the headers. Without this
     *     function, the exception passes
     */
    public function __construct(
        private readonly ResponseFactoryInterface $responses,
        private readonly TokenBucketStorage $storage,
        array $limits,
        private readonly bool $problem = false,
        private readonly bool $observe = false,
        private readonly ?LoggerInterface $logger = null,
        private readonly ?\Closure $errors = null,
    ) {
        foreach ($limits as $limit) {
            if (!$limit instanceof Limit) {
                throw new \TypeError(self::class . '::__construct(): Argument #3 ($limits) must contain only ' . Limit::class . ' objects');
            }
        }
        $this->limits = array_column($limits, null, 'name');
        if (count($this->limits) !== count($limits)) {
            throw new \ValueError('Two limits have the same name');
        }
        if ($observe && $logger === null) {
            throw new \ValueError('The observe mode needs a logger');
        }
    }

    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $charges = [];
        foreach ($this->limits as $name => $limit) {
            $charges[$name] = $limit->charge($this->storage, $request);
        }
        $charges = array_filter($charges);
        if ($charges === []) {
            return $handler->handle($request);
        }
        $decision = TokenBucket::attemptAll($charges);
        if (!$decision->allowed) {
            $this->log($decision);
        }
        if ($this->observe) {
            return $handler->handle($request);
        }
        $response = $decision->allowed ? $this->handle($request, $handler) : $this->denial($decision);
        foreach ($decision->headers($this->policy($decision, array_keys($charges))) as $name => $value) {
            // The response may already have the headers of another limiter.
            $response = $name === 'Retry-After' ? $response->withHeader($name, $value) : $response->withAddedHeader($name, $value);
        }
        return $response;
    }

    private function handle(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        try {
            return $handler->handle($request);
        } catch (\Throwable $e) {
            return $this->errors === null ? throw $e : ($this->errors)($e, $request);
        }
    }

    private function log(Decision $decision): void
    {
        $this->logger?->notice($this->observe ? 'The limit "{limit}" would deny this request: {reason}' : 'The limit "{limit}" denies this request: {reason}', [
            'limit' => $decision->refusedBy,
            'reason' => $decision->reason,
            'retry_after' => $decision->retryAfter,
        ]);
    }

    /**
     * Returns the name of the limit that the decision describes.
     *
     * A grant describes the limit with the fewest tokens left, but does not name it. It is
     * recognised by its numbers. If limits have equal numbers, the first of them is named.
     *
     * @param non-empty-list<string> $names
     */
    private function policy(Decision $decision, array $names): string
    {
        foreach ($names as $name) {
            $limit = $this->limits[$name];
            $policy = sprintf('"%s";q=%d;w=%d', addcslashes($limit->name, '"\\'), min($limit->tokens, self::MAX_INTEGER), ceil($limit->seconds));
            if ($decision->refusedBy === null && $decision->headers($limit->name)['RateLimit-Policy'] === $policy) {
                return $limit->name;
            }
        }
        return (string) ($decision->refusedBy ?? $names[0]);
    }

    private function denial(Decision $decision): ResponseInterface
    {
        $problem = $decision->problem([(string) $decision->refusedBy]);
        $response = $this->responses->createResponse($problem['status']);
        if (!$this->problem) {
            return $response;
        }
        $response->getBody()->write(json_encode($problem, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES));
        return $response->withHeader('Content-Type', 'application/problem+json');
    }
}
