<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\RateLimiter\RequestRateLimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use Symfony\Component\RateLimiter\Storage\StorageInterface;
use Symfony\Component\Security\Http\RateLimiter\DefaultLoginRateLimiter;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucket\Bridge\Symfony\LoginRateLimiter;
use TokenBucketStorageMemory;

/** Compares the limiter of logins with Symfony's. */
final class LoginRateLimiterTest extends TestCase
{
    private const NAMES = ['alice', 'ALICE', 'Alice', 'aliçe', 'ALIÇE', "ali\xe7e", "ALI\xe7E", '', ' alice', 'alice ', 'alice-192.0.2.1', 'İ', 'i̇', 'ß', 'SS', 'ﬁ', 'Σ', 'σ', 'ς', '0', '日本'];

    public function testTheSpellingsOfANameHaveOneBucket(): void
    {
        $accepted = fn (RequestRateLimiterInterface $limiter) => array_map(
            fn (string $name) => $limiter->consume(self::request($name))->isAccepted(),
            [...self::NAMES, ...self::NAMES, ...self::NAMES],
        );
        [$symfonys, $ours] = self::both(2, 1000);
        $answers = $accepted($symfonys);
        self::assertContains(false, array_slice($answers, 0, count(self::NAMES)));
        self::assertSame($answers, $accepted($ours));
    }

    public function testAUserHasABucketAtEachAddress(): void
    {
        foreach (self::both(1, 3) as $limiter) {
            $answers[] = array_map(
                fn (string $address) => $limiter->consume(self::request('alice', $address))->isAccepted(),
                ['192.0.2.1', '192.0.2.2', '192.0.2.1', '2001:db8::1', '2001:DB8::1', '192.0.2.2'],
            );
        }
        self::assertSame($answers[0], $answers[1]);
    }

    public function testTheResultDescribesTheStricterLimit(): void
    {
        foreach (self::both(2, 3) as $limiter) {
            $answers[] = array_map(function (string $name) use ($limiter): array {
                $result = $limiter->consume(self::request($name));
                return [$result->isAccepted(), $result->getRemainingTokens(), $result->getLimit()];
            }, ['alice', 'alice', 'bob', 'carol']);
        }
        self::assertSame([[true, 1, 2], [true, 0, 2], [true, 0, 3], [false, 0, 3]], $answers[0]);
        self::assertSame($answers[0], $answers[1]);
    }

    public function testALoginGivesNothingBackToALaterWindow(): void
    {
        $memory = new TokenBucketStorageMemory();
        $factory = fn (string $id, int $limit) => new RateLimiterFactory(['id' => $id, 'policy' => 'fixed_window', 'limit' => $limit, 'interval' => '1 hour', 'anchor_at' => '2024-01-01'], new BucketStorage($memory));
        $limiter = new LoginRateLimiter($factory('global', 2), $factory('local', 2), 'secret');
        $accepted = fn (Request ...$requests) => array_map(fn (Request $request) => $limiter->consume($request)->isAccepted(), $requests);
        $memory->advance(3599);
        [$bob, $carol] = [self::request('bob'), self::request('carol')];
        self::assertSame([true], $accepted($bob));
        $memory->advance(1);
        self::assertSame([true, true], $accepted(self::request('a'), $carol));
        $limiter->reset($bob);
        self::assertSame([false], $accepted(self::request('b')));
        $limiter->reset($carol);
        self::assertSame([true, false], $accepted(self::request('b'), self::request('c')));
    }

    /** @return array{RequestRateLimiterInterface, RequestRateLimiterInterface} Symfony's limiter and the bridge's */
    private static function both(int $ofUser, int $ofAddress): array
    {
        $factory = fn (string $id, int $limit, StorageInterface $storage) => new RateLimiterFactory(['id' => $id, 'policy' => 'fixed_window', 'limit' => $limit, 'interval' => '1 hour'], $storage);
        foreach ([[DefaultLoginRateLimiter::class, new InMemoryStorage()], [LoginRateLimiter::class, new BucketStorage(new TokenBucketStorageMemory())]] as [$class, $storage]) {
            $limiters[] = new $class($factory('global', $ofAddress, $storage), $factory('local', $ofUser, $storage), 'secret');
        }
        return $limiters;
    }

    private static function request(string $name, string $address = '192.0.2.1'): Request
    {
        $request = Request::create('/login', server: ['REMOTE_ADDR' => $address]);
        $request->attributes->set('_security.last_username', $name);
        return $request;
    }
}
