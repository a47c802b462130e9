<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Psr15;

use Psr\Http\Message\ResponseFactoryInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Psr\Log\LoggerInterface;
use TokenBucket\Decision;
use TokenBucket\StorageException;
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
    /**
     * The attribute of the request that tells the handler what was decided: an array with a
     * Decision under the name of its limit. With several limits, it is the limit that denies or
     * would deny, otherwise the one with the fewest tokens left.
     */
    public const DECISIONS = 'tokenbucket.decisions';

    /** @var array<string, Limit> by name */
    private readonly array $limits;

    /**
     * @param list<Limit> $limits limits with different names
     * @param bool $problem true to send a body of the type application/problem+json with a denial
     * @param bool $observe true to log denials and to deny nothing. No headers are sent then. The
     *     handler finds the denial in the attribute DECISIONS
     * @param ?LoggerInterface $logger gets one message for each denial, without the key
     * @param ?\Closure(\Throwable, ServerRequestInterface): ResponseInterface $errors makes the
     *     response to an exception of the handler, so that it has the headers. Without this
     *     function, the exception passes
     * @param bool $guard true to apply the limits of tokenbucket.guard first, in a worker loop
     */
    public function __construct(
        private readonly ResponseFactoryInterface $responses,
        private readonly TokenBucketStorage $storage,
        array $limits,
        private readonly bool $problem = false,
        private readonly bool $observe = false,
        private readonly ?LoggerInterface $logger = null,
        private readonly ?\Closure $errors = null,
        private readonly bool $guard = false,
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
        // Holds the permits until the response is returned.
        $permit = $this->guard ? \TokenBucket\guard(self::variables($request)) : null;
        if ($permit !== null && !$permit->decision->allowed) {
            return $this->refusal($permit->decision);
        }
        return $this->limit($request, $handler);
    }

    private function limit(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $charges = [];
        foreach ($this->limits as $name => $limit) {
            $charges[$name] = $limit->charge($this->storage, $request);
        }
        $charges = array_filter($charges);
        if ($charges === []) {
            return $handler->handle($request);
        }
        $taken = new Taken($this->limits, $charges);
        $decision = $taken->decision;
        if (!$decision->allowed) {
            $this->log($taken);
        }
        // Another middleware of this class may have limits of its own.
        $request = $request->withAttribute(self::DECISIONS, [$taken->limit => $decision] + $request->getAttribute(self::DECISIONS, []));
        if ($this->observe) {
            return $this->counted($taken, $handler->handle($request));
        }
        $response = $decision->allowed ? $this->counted($taken, $this->handle($request, $handler)) : $this->denial($decision, $taken->limit);
        foreach ($decision->headers($taken->limit) as $name => $value) {
            // The response may already have the headers of another limiter.
            $response = $name === 'Retry-After' ? $response->withHeader($name, $value) : $response->withAddedHeader($name, $value);
        }
        return $response;
    }

    /** Counts the response. If the store fails, the response is sent and the tokens stay taken. */
    private function counted(Taken $taken, ResponseInterface $response): ResponseInterface
    {
        try {
            $taken->settle($response);
        } catch (StorageException $e) {
            $this->logger?->warning('A response could not be counted: {exception}', ['exception' => $e]);
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

    private function log(Taken $taken): void
    {
        $this->logger?->notice($this->observe ? 'The limit "{limit}" would deny this request: {reason}' : 'The limit "{limit}" denies this request: {reason}', [
            'limit' => $taken->limit,
            'reason' => $taken->decision->reason,
            'retry_after' => $taken->decision->retryAfter,
        ]);
    }

    /** Returns the response to a request that the guard denies. */
    private function refusal(Decision $decision): ResponseInterface
    {
        $response = $this->denial($decision, (string) $decision->refusedBy)->withHeader('Cache-Control', 'no-store');
        foreach ($decision->headers('guard') as $name => $value) {
            $response = $response->withHeader($name, $value);
        }
        return $response;
    }

    /**
     * Returns the variables that the guard reads. Some servers pass only the address as a variable.
     *
     * @return array<mixed>
     */
    private static function variables(ServerRequestInterface $request): array
    {
        $variables = ['REQUEST_METHOD' => $request->getMethod(), 'REQUEST_URI' => $request->getRequestTarget(), 'SERVER_NAME' => $request->getUri()->getHost()];
        foreach ($request->getHeaders() as $name => $values) {
            // Web servers drop names with an underscore, because they would hide other headers.
            if (!str_contains((string) $name, '_')) {
                $key = strtoupper(strtr((string) $name, '-', '_'));
                $key = in_array($key, ['CONTENT_TYPE', 'CONTENT_LENGTH'], true) ? $key : "HTTP_$key";
                $variables[$key] = implode($key === 'HTTP_COOKIE' ? '; ' : ', ', $values);
            }
        }
        // Swoole keeps the cookies out of the headers.
        $variables += ['HTTP_COOKIE' => $request->getCookieParams()];
        // Servers such as RoadRunner make variables of all headers, also of X_Forwarded_For.
        $isHeader = static fn (int|string $name): bool => str_starts_with((string) $name, 'HTTP_');
        $params = $request->getServerParams();
        return array_diff_key($params, array_filter($params, $isHeader, ARRAY_FILTER_USE_KEY)) + $variables;
    }

    private function denial(Decision $decision, string $limit): ResponseInterface
    {
        $problem = $decision->problem([$limit]);
        $response = $this->responses->createResponse($problem['status']);
        if (!$this->problem) {
            return $response;
        }
        $response->getBody()->write(json_encode($problem, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES));
        return $response->withHeader('Content-Type', 'application/problem+json');
    }
}
