<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Routing\Middleware\ThrottleRequests as LaravelThrottleRequests;

/** Compares the keys of buckets with the keys of Laravel's counters. */
final class KeysTest extends BridgeTestCase
{
    private const SPELLINGS = ['jose', 'josé', 'josè', 'jôse', 'jösé', 'jos&eacute;', 'José', "jo'se", 'jo"se', 'jo<se', 'jo&se', "jos\xe9", "j\xf4se", '', 'jose ', '日本'];

    public function testAttemptHasOneBucketForTheSpellingsThatLaravelCountsTogether(): void
    {
        $this->assertSameAnswers(fn (LaravelRateLimiter $limiter) => array_map(fn (string $key) => $limiter->attempt($key, 3, fn () => true), [...self::SPELLINGS, ...self::SPELLINGS]));
    }

    public function testEveryMethodFindsTheBucketOfAnotherSpelling(): void
    {
        $this->assertSameAnswers(function (LaravelRateLimiter $limiter): array {
            $answers = [];
            foreach (['jôse', 'jo&se', 'jose', 'josé'] as $key) {
                $answers[] = $limiter->attempt('josé', 2, fn () => true);
                $answers[] = $limiter->attempts($key);
                $answers[] = $limiter->tooManyAttempts($key, 1);
                $answers[] = $limiter->retriesLeft($key, 2);
                $answers[] = $limiter->hit($key);
                $limiter->clear($key);
                $answers[] = $limiter->attempts('josè');
                $answers[] = $limiter->attempt('josé', 2, fn () => true);
                $limiter->resetAttempts($key);
                $answers[] = $limiter->attempts('josé');
            }
            return $answers;
        });
    }

    public function testADeclaredPatternMatchesTheSpellingsOfItsKeys(): void
    {
        $limiter = $this->another(['café:*' => [2, 60]]);
        $this->assertSame([1, 2, 3], array_map(fn (string $key) => $limiter->hit($key), ['café:josé', 'cafe:jose', 'cafè:jôse']));
        $this->advance(60);
        $this->assertFalse($limiter->tooManyAttempts('cafe:jose', 2));
    }

    public function testARouteHasOneBucketForTheSpellingsThatLaravelCountsTogether(): void
    {
        if (!method_exists(LaravelThrottleRequests::class, 'shouldHashKeys')) {
            $this->markTestSkipped('Laravel ' . $this->app->version() . ' hashes all keys.');
        }
        $this->limiter()->for('names', fn () => Limit::perHour(3)->by(self::SPELLINGS[(int) request('spelling')]));
        LaravelThrottleRequests::shouldHashKeys(false);
        try {
            foreach (['/laravel' => UnchangedThrottleRequests::class, '/bridge' => 'throttle'] as $path => $middleware) {
                $this->route("$middleware:names", $path);
                $statuses[] = array_map(fn (int $i) => $this->get("$path?spelling=$i")->getStatusCode(), array_keys(self::SPELLINGS));
            }
        } finally {
            LaravelThrottleRequests::shouldHashKeys(true);
        }
        $this->assertContains(429, $statuses[0]);
        $this->assertSame($statuses[0], $statuses[1]);
    }
}
