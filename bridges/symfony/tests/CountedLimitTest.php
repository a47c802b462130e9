<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\Attributes\DataProvider;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Event\RequestEvent;
use Symfony\Component\HttpKernel\Event\ResponseEvent;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use TokenBucket\Bridge\Symfony\CountedLimit;

/** Counts only the responses with the status 401. */
final class CountedLimitTest extends KernelTestCase
{
    protected const LIMITERS = [
        'bucket' => ['policy' => 'token_bucket', 'limit' => 3, 'rate' => ['interval' => '1 minute', 'amount' => 3], 'lock_factory' => null],
        'quota' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 minute', 'lock_factory' => null],
        'own' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 minute', 'lock_factory' => null],
        'free' => ['policy' => 'no_limit', 'limit' => 1, 'lock_factory' => null],
        'api' => ['policy' => 'no_limit', 'limit' => 1, 'lock_factory' => null],
    ];

    protected function setUp(): void
    {
        $this->start(['quotas' => ['quota' => null], 'except' => ['own']]);
    }

    /** @return list<array{string}> */
    public static function limiters(): array
    {
        return [['bucket'], ['quota']];
    }

    #[DataProvider('limiters')]
    public function testOnlyWrongPasswordsCount(string $limiter): void
    {
        $this->kernel->getContainer()->get('event_dispatcher')->addSubscriber($this->limit($limiter));
        $login = fn (string $name, string $password): Response => $this->send(Request::create('/login', server: ['PHP_AUTH_USER' => $name, 'PHP_AUTH_PW' => $password]));
        for ($i = 0; $i < 10; $i++) {
            self::assertSame(200, $login('bob', 'right')->getStatusCode());
        }
        foreach ([401, 401, 401, 429] as $i => $status) {
            self::assertSame($status, $login("user$i", 'wrong')->getStatusCode());
        }
        $denied = $login('bob', 'right');
        self::assertSame(429, $denied->getStatusCode());
        self::assertStringStartsWith('"logins";q=3', $denied->headers->get('RateLimit-Policy'));
        $this->memory()->advance(60);
        self::assertStringStartsWith('"logins";r=2', $login('bob', 'right')->headers->get('RateLimit'));
    }

    public function testResponsesOfTheRouterCount(): void
    {
        $this->start(limiters: ['scan' => ['policy' => 'fixed_window', 'limit' => 4, 'interval' => '1 hour', 'lock_factory' => null]]);
        $status = fn (string $path, string $method = 'GET'): int => $this->kernel->handle(Request::create($path, $method))->getStatusCode();
        self::assertSame([200, 200, 200, 200, 200], array_map(fn () => $status('/only/get'), range(1, 5)));
        self::assertSame([404, 405, 404, 405], [$status('/wp-login/php'), $status('/only/get', 'POST'), $status('/a/b'), $status('/only/get', 'PUT')]);
        self::assertSame([429, 429, 429], [$status('/a/b'), $status('/only/get', 'POST'), $status('/only/get')]);
    }

    #[DataProvider('limiters')]
    public function testRequestsInFlightHoldTheirTokens(string $limiter): void
    {
        $limit = $this->limit($limiter);
        $requests = array_map(fn () => self::attempt(), range(1, 4));
        self::assertSame([0, 0, 0, 429], array_map(fn (Request $request) => $this->take($limit, $request), $requests));
        $this->settle($limit, $requests[0], 200);
        $this->settle($limit, $requests[0], 200);
        $this->settle($limit, $requests[1], 401);
        self::assertSame([0, 429], [$this->take($limit, self::attempt()), $this->take($limit, self::attempt())]);
    }

    #[DataProvider('limiters')]
    public function testTokensThatWereRefilledInTheMeantimeAreNotGivenBackAgain(string $limiter): void
    {
        $limit = $this->limit($limiter);
        $late = self::attempt();
        $this->take($limit, $late);
        $this->memory()->advance(60);
        self::assertSame([0, 0, 0, 429], array_map(fn () => $this->take($limit, self::attempt()), range(1, 4)));
        $this->settle($limit, $late, 200);
        self::assertSame(429, $this->take($limit, self::attempt()));
    }

    public function testALimitThatDoesNotApplyTakesNothing(): void
    {
        foreach ([['bucket', '/'], ['free', '/login']] as [$limiter, $path]) {
            $limit = $this->limit($limiter);
            self::assertSame([0, 0, 0, 0], array_map(fn () => $this->take($limit, Request::create($path)), range(1, 4)));
        }
    }

    public function testTheObserveModeDeniesNothingAndNotesTheDecision(): void
    {
        $limit = $this->limit('bucket', observe: true);
        foreach ([true, true, true, false, false] as $allowed) {
            $request = self::attempt();
            self::assertSame(0, $this->take($limit, $request));
            self::assertSame($allowed, $request->attributes->get(CountedLimit::DECISIONS)['logins']->allowed);
            self::assertFalse($this->settle($limit, $request, 401)->headers->has('RateLimit'));
        }
    }

    public function testSymfonysOwnLimiterCannotGiveTokensBack(): void
    {
        $this->expectExceptionMessage('CountedLimit needs a limiter with a bucket, not a Symfony\\');
        $this->take($this->limit('own'), self::attempt());
    }

    private function limit(string $limiter, bool $observe = false): CountedLimit
    {
        return new CountedLimit(
            $this->factory($limiter),
            key: fn (Request $request) => $request->getPathInfo() === '/login' ? $request->getClientIp() : null,
            count: fn (Response $response) => $response->getStatusCode() === 401 ? 1 : 0,
            policy: 'logins',
            observe: $observe,
        );
    }

    private static function attempt(): Request
    {
        return Request::create('/login');
    }

    /** Returns the status of the denial, or 0. */
    private function take(CountedLimit $limit, Request $request): int
    {
        $limit->take($event = new RequestEvent($this->kernel, $request, HttpKernelInterface::MAIN_REQUEST));
        return $event->getResponse()?->getStatusCode() ?? 0;
    }

    private function settle(CountedLimit $limit, Request $request, int $status): Response
    {
        $event = new ResponseEvent($this->kernel, $request, HttpKernelInterface::MAIN_REQUEST, new Response(status: $status));
        $limit->settle($event);
        return $event->getResponse();
    }
}
