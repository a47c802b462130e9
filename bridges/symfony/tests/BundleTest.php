<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\HttpClient\MockHttpClient;
use Symfony\Component\HttpClient\ThrottlingHttpClient;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Event\WorkerRunningEvent;
use Symfony\Component\Messenger\MessageBusInterface;
use Symfony\Component\Messenger\Transport\Receiver\ReceiverInterface;
use Symfony\Component\Messenger\Worker;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactoryInterface;
use Symfony\Component\RateLimiter\Reservation;
use Symfony\Component\Security\Core\Exception\TooManyLoginAttemptsAuthenticationException;
use Symfony\Component\Security\Core\User\InMemoryUser;
use Symfony\Component\Security\Http\Authenticator\AuthenticatorInterface;
use Symfony\Component\Security\Http\Authenticator\Passport\Badge\UserBadge;
use Symfony\Component\Security\Http\Authenticator\Passport\SelfValidatingPassport;
use Symfony\Component\Security\Http\Event\CheckPassportEvent;
use Symfony\Component\Security\Http\RateLimiter\DefaultLoginRateLimiter;
use Symfony\Component\Security\Http\RememberMe\ResponseListener;
use TokenBucket\Bridge\Symfony\LoginRateLimiter;

/** Tests the bundle in an application with FrameworkBundle and SecurityBundle. */
final class BundleTest extends KernelTestCase
{
    protected const LIMITERS = parent::LIMITERS + [
        'mail' => ['policy' => 'token_bucket', 'limit' => 5, 'rate' => ['interval' => '1 second', 'amount' => 5], 'lock_factory' => null],
        'free' => ['policy' => 'no_limit', 'limit' => 1, 'lock_factory' => null],
    ];

    public function testLimitsAnUnchangedController(): void
    {
        $this->start();
        self::assertSame(['200 2', '200 1', '200 0', '429 0'], array_map(fn () => $this->get('/page'), range(1, 4)));
        $this->memory()->advance(1200);
        self::assertSame(['200 0', '429 0'], array_map(fn () => $this->get('/page'), range(1, 2)));
    }

    public function testExceptKeepsALimiterOfSymfony(): void
    {
        $this->start(['except' => ['api']]);
        array_map(fn () => $this->get('/page'), range(1, 3));
        $this->memory()->advance(7200);
        self::assertSame('429 0', $this->get('/page'));
    }

    public function testCompoundPoliciesTakeTokensFromAllOrNone(): void
    {
        if (TestKernel::VERSION_ID < 70300) {
            self::markTestSkipped('Symfony has compound policies since 7.3');
        }
        $this->start(limiters: ['both' => ['policy' => 'compound', 'limiters' => ['api', 'mail']]]);
        $accepted = array_map(fn () => $this->factory('both')->create('x')->consume()->isAccepted(), range(1, 5));
        self::assertSame([true, true, true, false, false], $accepted);
        self::assertSame(2, $this->factory('mail')->create('x')->consume(0)->getRemainingTokens());
    }

    public function testLoginThrottlingDeniesTheFourthAttempt(): void
    {
        $this->start();
        self::assertSame([401, 401, 401], array_map(fn () => $this->login('alice', 'wrong'), range(1, 3)));
        // Symfony answers an attempt over the limit with 401, too, without checking the password.
        self::assertSame(401, $this->login('alice', 'right'));
        self::assertSame(200, $this->login('bob', 'right'));
        $this->memory()->advance(1200);
        self::assertSame(200, $this->login('alice', 'right'));
        self::assertSame([401, 401, 401], array_map(fn () => $this->login('alice', 'wrong'), range(1, 3)));
        self::assertSame(401, $this->login('alice', 'right'));
    }

    public function testALoginLimiterBesideOneOfSymfonyResetsOnlyTheUser(): void
    {
        foreach ([[], ['_login_global_main'], ['_login_local_main'], ['_login_global_main', '_login_local_main']] as $i => $except) {
            $this->start(['except' => $except]);
            // Each guess follows a login with the attacker's own account.
            for ($guesses = 0; $guesses < 60 && $this->login('bob', 'right', "198.51.100.$i") === 200; $guesses++) {
                $this->login("user$guesses", 'wrong', "198.51.100.$i");
            }
            self::assertSame(15, $guesses, json_encode($except));
            // A user has three attempts, also at an address of its own.
            $accepted = array_map(fn () => $this->limited($i), range(1, 4));
            self::assertSame([true, true, true, false], $accepted, json_encode($except));
            $this->kernel->shutdown();
        }
        $this->kernel = null;
    }

    /** Reports whether an attempt of a user is accepted, at an address for each number. */
    private function limited(int $number): bool
    {
        $request = Request::create('/login', server: ['REMOTE_ADDR' => "203.0.113.$number"]);
        $request->attributes->set('_security.last_username', 'alice');
        $limiter = $this->kernel->getContainer()->get('security.login_throttling.main.limiter');
        $peeked = method_exists($limiter, 'peek') ? $limiter->peek($request)->getRemainingTokens() : null;
        $accepted = $limiter->consume($request)->isAccepted();
        self::assertSame($peeked > 0, $accepted);
        return $accepted;
    }

    public function testApplicationsInTwoFoldersHaveBucketsOfTheirOwn(): void
    {
        foreach ([['free'], ['mail'], ['free', 'mail']] as $names) {
            // A kernel of another configuration has another project directory.
            $this->kernel = new TestKernel(array_diff_key(self::LIMITERS, array_flip($names)), []);
            $accepted[] = array_map(fn () => $this->factory('api')->create('x' . getmypid())->consume()->isAccepted(), range(1, 4));
            $this->kernel->shutdown();
        }
        $this->kernel = null;
        self::assertSame(array_fill(0, 3, [true, true, true, false]), $accepted);
    }

    public function testParallelAttemptsTakeTheirTokensBeforeThePasswordsAreVerified(): void
    {
        $this->start();
        $container = $this->kernel->getContainer();
        $container->get('request_stack')->push(Request::create('/login'));
        $passport = new SelfValidatingPassport(new UserBadge('alice'));
        $event = new CheckPassportEvent($this->createMock(AuthenticatorInterface::class), $passport);
        for ($i = 0; $i < 3; $i++) {
            $container->get('security.listener.login_throttling.main')->checkPassport($event);
        }
        $this->expectException(TooManyLoginAttemptsAuthenticationException::class);
        $container->get('security.listener.login_throttling.main')->checkPassport($event);
    }

    public function testARememberedUserTakesNoTokens(): void
    {
        $this->start();
        $container = $this->kernel->getContainer();
        $container->get('request_stack')->push($request = Request::create('/login'));
        $container->get('security.authenticator.remember_me_handler.main')->createRememberMeCookie(new InMemoryUser('alice', 'right', ['ROLE_USER']));
        $container->get('request_stack')->pop();
        $cookie = $request->attributes->get(ResponseListener::COOKIE_ATTR_NAME)->getValue();
        $remembered = fn () => $this->send(Request::create('/login', cookies: ['REMEMBERME' => $cookie], server: ['REMOTE_ADDR' => '192.0.2.7']));
        // The guesses of others at this address do not log the user out.
        self::assertSame([401, 401, 401, 401], array_map(fn () => $this->login('alice', 'wrong'), range(1, 4)));
        for ($i = 0; $i < 20; $i++) {
            self::assertSame(200, $remembered()->getStatusCode());
        }
        // The page loads do not forget these guesses.
        self::assertSame(401, $this->login('alice', 'right'));
        self::assertSame(200, $this->login('bob', 'right'));
    }

    public function testAnAuthenticatorThatVerifiesACodeIsLimitedAsBySymfony(): void
    {
        if (TestKernel::VERSION_ID < 60400) {
            self::markTestSkipped('Symfony takes tokens after failures since 6.4');
        }
        $code = fn (string $when, int $code, string $address) => $this->send(Request::create('/login', server: ['HTTP_X_CODE' => "$code", 'HTTP_X_WHEN' => $when, 'REMOTE_ADDR' => $address]))->getStatusCode();
        foreach ([false, true] as $bridged) {
            $bridged ? $this->start() : $this->kernel = new TestKernel(self::LIMITERS, null);
            // The user has 3 attempts at the address, and the address has 15.
            foreach ([['before', 14], ['before', 15], ['later', 2], ['later', 3]] as $i => [$when, $wrong]) {
                $address = "192.0.2.$i";
                self::assertSame(array_fill(0, $wrong, 401), array_map(fn () => $code($when, 1, $address), range(1, $wrong)));
                $answers[(int) $bridged][] = $code($when, 7, $address);
            }
            for ($i = 0; $i < 20; $i++) {
                self::assertSame(200, $code('later', 7, '192.0.2.9'));
            }
            $this->kernel->shutdown();
        }
        $this->kernel = null;
        self::assertSame([[200, 401, 200, 401], [200, 401, 200, 401]], $answers);
    }

    public function testALoginThatWasNotThrottledGivesNothingBack(): void
    {
        $this->start();
        $limiter = $this->kernel->getContainer()->get('security.login_throttling.main.limiter');
        for ($i = 0; $i < 16; $i++) {
            $request = Request::create('/login');
            $request->attributes->set('_security.last_username', "user$i");
            self::assertSame($i < 15, $limiter->consume($request)->isAccepted());
        }
        // For example, a login link.
        $limiter->reset(Request::create('/login'));
        // A denied attempt took nothing.
        $limiter->reset($request);
        self::assertFalse($limiter->consume($request)->isAccepted());
    }

    public function testALoginGivesBackTheTokensOfAllAttemptsOfItsRequest(): void
    {
        $this->start();
        $limiter = $this->kernel->getContainer()->get('security.login_throttling.main.limiter');
        for ($i = 0; $i < 20; $i++) {
            // Two authenticators check the passport of one request.
            $request = Request::create('/login');
            $request->attributes->set('_security.last_username', "user$i");
            self::assertTrue($limiter->consume($request)->isAccepted());
            self::assertTrue($limiter->consume($request)->isAccepted());
            $limiter->reset($request);
        }
    }

    public function testALoginLimiterOfTheApplicationNeedsASecretOnlyWhereSymfonysDoes(): void
    {
        $this->start();
        $takesSecret = (new \ReflectionMethod(DefaultLoginRateLimiter::class, '__construct'))->getNumberOfParameters() > 2;
        self::assertSame(TestKernel::VERSION_ID >= 60400, $takesSecret);
        if ($takesSecret) {
            $this->expectExceptionMessage('A non-empty secret is required.');
        }
        $limiter = new LoginRateLimiter($this->factory('mail'), $this->factory('api'));
        self::assertTrue($limiter->consume(Request::create('/login'))->isAccepted());
    }

    public function testThrottlingHttpClientWaitsForTokens(): void
    {
        if (!class_exists(ThrottlingHttpClient::class)) {
            self::markTestSkipped('Symfony has ThrottlingHttpClient since 7.1');
        }
        $this->start();
        $client = new ThrottlingHttpClient(new MockHttpClient(), $this->recording($this->factory('mail')->create('client'), $delays));
        $begin = hrtime(true);
        for ($i = 0; $i < 6; $i++) {
            $client->request('GET', 'http://localhost/')->getStatusCode();
        }
        $this->assertWaits([0.2], $delays, $begin);
    }

    public function testMessengersWorkerWaitsForTokens(): void
    {
        if (TestKernel::VERSION_ID < 60200) {
            self::markTestSkipped('Messenger has rate_limiter since 6.2');
        }
        $this->start();
        $messages = array_map(fn (int $i) => new Envelope((object) ['number' => $i]), range(1, 7));
        $receiver = $this->createMock(ReceiverInterface::class);
        $receiver->method('get')->willReturnCallback(function () use (&$messages) {
            return array_splice($messages, 0, 1);
        });
        $receiver->expects(self::exactly(7))->method('ack');
        $bus = $this->createMock(MessageBusInterface::class);
        $bus->expects(self::exactly(7))->method('dispatch')->willReturnArgument(0);
        $events = new EventDispatcher();
        $events->addListener(WorkerRunningEvent::class, fn (WorkerRunningEvent $event) => $event->isWorkerIdle() && $event->getWorker()->stop());
        $factory = $this->createStub(RateLimiterFactoryInterface::class);
        $factory->method('create')->willReturn($this->recording($this->factory('mail')->create(), $delays));
        $begin = hrtime(true);
        (new Worker(['mails' => $receiver], $bus, $events, rateLimiters: ['mails' => $factory]))->run(['sleep' => 0]);
        // Five messages at once, then waits of 0.2 and, on a clock that stands still, 0.4 seconds.
        $this->assertWaits([0.2, 0.4], $delays, $begin);
    }

    /**
     * Returns a limiter that records the reservations of another limiter.
     *
     * @param ?list<array{float, float}> $delays the least and the most seconds of each delay that
     *     is not 0
     */
    private function recording(LimiterInterface $limiter, ?array &$delays): LimiterInterface
    {
        $recording = $this->createStub(LimiterInterface::class);
        $recording->method('consume')->willReturnCallback($limiter->consume(...));
        $recording->method('reserve')->willReturnCallback(function (int $tokens) use ($limiter, &$delays): Reservation {
            $before = microtime(true);
            $reservation = $limiter->reserve($tokens);
            $after = microtime(true);
            if ($reservation->getTimeToAct() > $after) {
                $delays[] = [$reservation->getTimeToAct() - $after, $reservation->getTimeToAct() - $before];
            }
            return $reservation;
        });
        return $recording;
    }

    /** @param list<float> $seconds the delays of the reservations. They passed since $begin */
    private function assertWaits(array $seconds, array $delays, int $begin): void
    {
        $passed = (hrtime(true) - $begin) / 1e9;
        self::assertCount(count($seconds), $delays);
        foreach ($delays as $i => [$least, $most]) {
            // The delay is added to an instant whose precision is less than a microsecond.
            self::assertGreaterThanOrEqual($least - 1e-6, $seconds[$i]);
            self::assertLessThanOrEqual($most + 1e-6, $seconds[$i]);
        }
        // Symfony computes the time that is left from the wall clock, in whole microseconds.
        self::assertGreaterThanOrEqual(array_sum(array_column($delays, 0)) - 1e-3, $passed);
    }

    private function get(string $path): string
    {
        $response = $this->send(Request::create($path));
        return $response->getStatusCode() . ' ' . $response->headers->get('X-RateLimit-Remaining');
    }
}
