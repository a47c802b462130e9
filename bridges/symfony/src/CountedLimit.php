<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony;

use Psr\Log\LoggerInterface;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\KernelEvents;
use Symfony\Component\RateLimiter\Policy\NoLimiter;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;
use TokenBucket\StorageException;

/**
 * Limits requests by their responses, such as failed logins.
 *
 * A request takes a token before the router, the firewall and the controller run. The token is
 * given back if the response does not count. So parallel requests never exceed the limit, and the
 * router's own responses, 404 and 405, can count.
 */
class CountedLimit implements EventSubscriberInterface
{
    /**
     * The attribute of the request that tells controllers what was decided: an array with a
     * Decision under the name $policy of each limit.
     */
    public const DECISIONS = 'tokenbucket.decisions';

    /** @var \WeakMap<Request, Hold> */
    private readonly \WeakMap $holds;

    /**
     * @param \Closure(Request): ?string $key returns the limited client or user, or null if the
     *     limit does not apply to the request. The request has no route yet
     * @param \Closure(Response): (int|float) $count returns the tokens that a response costs
     * @param string $policy the name in the headers: printable ASCII
     * @param bool $observe true to deny nothing and to send no headers
     */
    public function __construct(
        private readonly RateLimiterFactoryInterface $limiter,
        private readonly \Closure $key,
        private readonly \Closure $count,
        private readonly string $policy = 'default',
        private readonly ?LoggerInterface $logger = null,
        private readonly bool $observe = false,
    ) {
        $this->holds = new \WeakMap();
    }

    public static function getSubscribedEvents(): array
    {
        // After the session (128), and before the router (32), which throws for 404 and 405.
        return [KernelEvents::REQUEST => ['take', 40], KernelEvents::RESPONSE => 'settle'];
    }

    public function take(RequestEvent $event): void
    {
        $request = $event->getRequest();
        $key = $event->isMainRequest() ? ($this->key)($request) : null;
        $limiter = $key === null ? new NoLimiter() : $this->limiter->create($key);
        if ($limiter instanceof NoLimiter) {
            return;
        }
        if (!$limiter instanceof BucketLimiter) {
            throw new \LogicException(sprintf('%s needs a limiter with a bucket, not a %s.', self::class, $limiter::class));
        }
        $hold = new Hold($limiter->bucket, $limiter->cost(1));
        $request->attributes->set(self::DECISIONS, [$this->policy => $hold->decision] + $request->attributes->get(self::DECISIONS, []));
        if ($hold->decision->allowed) {
            $this->holds[$request] = $hold;
            return;
        }
        if ($this->observe) {
            return;
        }
        $event->setResponse(new Response(status: $hold->decision->problem()['status'], headers: $hold->decision->headers($this->policy)));
    }

    public function settle(ResponseEvent $event): void
    {
        $hold = $this->holds[$event->getRequest()] ?? null;
        if ($hold === null) {
            return;
        }
        unset($this->holds[$event->getRequest()]);
        $response = $event->getResponse();
        foreach ($this->observe ? [] : $hold->decision->headers($this->policy) as $name => $value) {
            $response->headers->set($name, $value, false);
        }
        try {
            $hold->settle(($this->count)($response));
        } catch (StorageException $e) {
            // The response is sent, and the token stays taken.
            $this->logger?->warning('A response could not be counted: {exception}', ['exception' => $e]);
        }
    }
}
