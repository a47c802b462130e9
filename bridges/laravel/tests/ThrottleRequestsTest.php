<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;
use Illuminate\Routing\Middleware\ThrottleRequestsWithRedis;
use Illuminate\Http\Request;
use Illuminate\Support\Carbon;
use Illuminate\Support\Facades\Route;
use TokenBucket\Bridge\Laravel\ThrottleRequests;
use TokenBucket\Bridge\Laravel\TokenBucketServiceProvider;
use TokenBucket\Decision;

class OwnThrottleRequests extends ThrottleRequests
{
}

final class ThrottleRequestsTest extends BridgeTestCase
{
    public function testTheDiscoveredProviderReplacesBothMiddleware(): void
    {
        foreach ([LaravelThrottleRequests::class, ThrottleRequestsWithRedis::class] as $class) {
            $this->assertInstanceOf(ThrottleRequests::class, $this->app->make($class));
        }
    }

    public function testTheObserveModeDeniesNothingAndNotesTheDecision(): void
    {
        $this->app['config']->set('tokenbucket.observe', true);
        $this->app->forgetInstance(LaravelThrottleRequests::class);
        (new TokenBucketServiceProvider($this->app))->register();
        $this->limiter()->for('named', fn () => Limit::perMinute(3));
        Route::get('/', fn (Request $request) => implode(', ', array_map(
            fn (string $name, Decision $it) => "$name: $it->reason $it->remaining",
            array_keys($request->attributes->get(ThrottleRequests::DECISIONS)),
            $request->attributes->get(ThrottleRequests::DECISIONS),
        )))->middleware(['throttle:2,1', 'throttle:named']);
        foreach (['named: granted 2, 2,1: granted 1', 'named: granted 1, 2,1: granted 0', 'named: granted 0, 2,1: insufficient_tokens 0', 'named: insufficient_tokens 0, 2,1: insufficient_tokens 0'] as $expected) {
            $this->assertSame($expected, $this->assertAnswer(200, null, null)->getContent());
        }
    }

    public function testRefillsContinuously(): void
    {
        $this->route('throttle:3,1');
        foreach ([2, 1, 0] as $remaining) {
            $this->assertAnswer(200, 3, $remaining);
        }
        $this->assertAnswer(429, 3, 0, 20);
        $this->advance(19.5);
        $this->assertAnswer(429, 3, 0, 1);
        $this->advance(0.5);
        $this->assertAnswer(200, 3, 0);
        $this->advance(60);
        $this->assertAnswer(200, 3, 2);
    }

    public function testSendsTheResetInstantOfTheRetry(): void
    {
        Carbon::setTestNow(Carbon::create(2018));
        $this->route('throttle:1,1');
        $this->assertAnswer(200, 1, 0);
        $response = $this->assertAnswer(429, 1, 0, 60);
        $this->assertEquals(Carbon::now()->getTimestamp() + 60, $response->headers->get('X-RateLimit-Reset'));
    }

    public function testARefusedRequestTakesNoTokens(): void
    {
        $this->limiter()->for('two', fn () => [Limit::perHour(5)->by('a'), Limit::perMinute(2)->by('b')]);
        $this->route('throttle:two');
        $this->assertAnswer(200, 2, 1);
        $this->assertAnswer(200, 2, 0);
        for ($i = 0; $i < 10; $i++) {
            $this->assertAnswer(429, 2, 0, 30);
        }
        $this->advance(60);
        $this->assertAnswer(200, 2, 1);
        $this->assertAnswer(200, 2, 0);
        $this->advance(60);
        $this->assertAnswer(200, 5, 0);
        $this->assertAnswer(429, 5, 0, 600);
    }

    public function testLimitsOfOneKeyHaveBucketsOfTheirOwn(): void
    {
        $this->limiter()->for('two', fn () => [Limit::perMinute(2), Limit::perHour(3)]);
        $this->route('throttle:two');
        $this->assertAnswer(200, 2, 1);
        $this->assertAnswer(200, 2, 0);
        $this->advance(60);
        $this->assertAnswer(200, 3, 0);
        $this->assertAnswer(429, 3, 0, 1140);
    }

    public function testRoutesWithOtherNumbersDoNotDenyEachOther(): void
    {
        $this->route('throttle:2,1', '/minute');
        $this->route('throttle:2,60', '/hour');
        $this->assertAnswer(200, 2, 1, path: '/minute');
        $this->assertAnswer(200, 2, 1, path: '/hour');
        $this->assertAnswer(200, 2, 0, path: '/hour');
        $this->assertAnswer(429, 2, 0, 1800, '/hour');
        $this->assertAnswer(200, 2, 0, path: '/minute');
        $this->route('throttle:5,1', '/loose');
        $this->assertAnswer(200, 5, 4, path: '/loose');
    }

    public function testSendsTheResponseOfTheLimit(): void
    {
        $this->limiter()->for('own', fn () => Limit::perMinute(1)->response(
            fn ($request, array $headers) => response('wait', 503, $headers),
        ));
        $this->route('throttle:own');
        $this->assertAnswer(200, 1, 0);
        $this->assertSame('wait', $this->assertAnswer(503, 1, 0, 60)->getContent());
    }

    public function testAfterCountsOnlyTheResponsesThatItSelects(): void
    {
        if (!method_exists(Limit::class, 'after')) {
            $this->markTestSkipped('Laravel ' . $this->app->version() . ' has no after().');
        }
        $this->limiter()->for('missing', fn () => Limit::perMinute(2)->after(fn ($response) => $response->getStatusCode() === 404));
        $this->route('throttle:missing');
        $this->assertAnswer(200, 2, 2);
        $this->assertAnswer(404, 2, 1, path: '/?status=404');
        $this->assertAnswer(404, 2, 0, path: '/?status=404');
        $this->assertAnswer(429, 2, 0, 30);
        // The second of two equal limits puts the bucket into debt.
        $this->limiter()->for('twice', fn () => array_fill(0, 2, Limit::perMinute(1)->after(fn () => true)));
        $this->route('throttle:twice', '/twice');
        $this->assertAnswer(200, 1, 0, path: '/twice');
        $this->assertAnswer(429, 1, 0, 120, '/twice');
    }

    public function testUnlimitedRequestsPass(): void
    {
        foreach ([
            'none' => Limit::none(), 'list' => [Limit::none()], 'empty' => [],
            'some' => [Limit::none(), Limit::perMinute(1)->by('x')], 'no-decay' => Limit::perMinutes(0, 1),
        ] as $name => $limits) {
            $this->limiter()->for($name, fn () => $limits);
            $this->route("throttle:$name", "/$name");
        }
        for ($i = 0; $i < 3; $i++) {
            $this->assertAnswer(200, null, null, path: '/none');
            $this->assertAnswer(200, null, null, path: '/list');
            $this->assertAnswer(200, null, null, path: '/empty');
            $this->assertSame(200, $this->get('/no-decay')->getStatusCode());
            $this->advance(1e-6);
        }
        $this->assertAnswer(200, 1, 0, path: '/some');
        $this->assertAnswer(429, 1, 0, 60, '/some');
    }

    public function testLimitsThatMeanUnlimitedPassWithTheirNumbers(): void
    {
        foreach ([10 ** 15, 10 ** 17, PHP_INT_MAX - 1] as $limit) {
            $this->limiter()->for("limit $limit", fn () => [Limit::perMinute($limit), Limit::perDay($limit)->by('day'), Limit::perMinutes(10 ** 9, $limit)->by('span')]);
            foreach (["throttle:$limit,1", "throttle:$limit,0", "throttle:$limit,1000000000", "throttle:limit $limit"] as $i => $middleware) {
                $this->route($middleware, "/$limit/$i");
                $headers = $this->get("/$limit/$i")->headers;
                $this->assertEqualsWithDelta($limit, (float) $headers->get('X-RateLimit-Limit'), $limit / 1000);
                $this->assertEqualsWithDelta($limit, (float) $headers->get('X-RateLimit-Remaining'), $limit / 1000);
            }
            $this->assertSame('called', $this->limiter()->attempt("limit $limit", $limit, fn () => 'called', 1));
            $this->assertGreaterThan(0, $this->limiter()->remaining("limit $limit", $limit));
            $this->assertSame(0, $this->limiter()->availableIn("limit $limit"));
        }
    }

    public function testAMiddlewareOfTheApplicationMayExtendTheClass(): void
    {
        $this->route(OwnThrottleRequests::class . ':1,1', '/own');
        $this->route('throttle:1,1', '/laravel');
        $this->assertAnswer(200, 1, 0, path: '/own');
        $this->assertAnswer(429, 1, 0, 60, '/laravel');
    }

    public function testAnUnchangedMiddlewareOfTheApplicationKeepsLaravelsCounter(): void
    {
        $this->limiter()->for('api', fn () => Limit::perHour(2)->by('me'));
        $this->route(UnchangedThrottleRequests::class . ':api', '/own');
        $this->route('throttle:api', '/api');
        $statuses = fn (array $paths) => array_map(fn (string $path) => $this->get($path)->getStatusCode(), $paths);
        // The bucket that /api uses has no effect on the counter that /own uses.
        $this->assertSame([200, 200, 429, 200, 429, 429], $statuses(['/own', '/own', '/own', '/api', '/own', '/own']));
    }

    public function testALimiterOfTheApplicationDecidesRoutes(): void
    {
        $this->route('throttle:1,1');
        $this->app->extend(LaravelRateLimiter::class, fn () => new class ($this->app->make('cache')->driver()) extends LaravelRateLimiter {
            public function tooManyAttempts($key, $maxAttempts)
            {
                return parent::tooManyAttempts($key, 2 * $maxAttempts);
            }
        });
        $this->assertSame([200, 200], [$this->get('/')->getStatusCode(), $this->get('/')->getStatusCode()]);
        $this->advance(3600);
        $response = $this->get('/');
        $this->assertSame(429, $response->getStatusCode());
        $this->assertSame('60', $response->headers->get('Retry-After'));
    }

    public function testEqualLimitsAreOneLimit(): void
    {
        // Limits are equal, for example, if the sender and the recipient of a message are one user.
        $this->limiter()->for('both', fn () => [Limit::perMinute(1)->by('me'), Limit::perMinute(1)->by('me')]);
        $this->route('throttle:both');
        $this->assertAnswer(200, 1, 0);
        $this->assertAnswer(429, 1, 0, 60);
    }

    public function testALimitOfZeroDeniesEveryRequest(): void
    {
        $this->route('throttle:0,1');
        $this->assertAnswer(429, 0, 0, 60);
        $this->assertAnswer(429, 0, 0, 60);
    }

    public function testTheFacadeKnowsTheLimitsOfTheRoute(): void
    {
        $this->limiter()->for('known', fn () => Limit::perMinute(5)->by('me'));
        $this->route('throttle:known');
        $this->assertAnswer(200, 5, 4);
        $this->assertSame(4, $this->limiter()->remaining(md5('knownme'), 5));
        $this->limiter()->clear(md5('knownme'));
        $this->assertAnswer(200, 5, 4);
    }
}
