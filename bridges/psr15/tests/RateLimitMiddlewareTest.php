<?php

declare(strict_types=1);

use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\ServerRequest;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Psr\Log\AbstractLogger;
use TokenBucket\Bridge\Psr15\Limit;
use TokenBucket\Bridge\Psr15\RateLimitMiddleware;
use TokenBucket\OnFailure;

require_once __DIR__ . '/../../../tools/testkit/php/servers.php';

final class RateLimitMiddlewareTest extends TestCase
{
    private TokenBucketStorage $storage;
    private RequestHandlerInterface $handler;
    private AbstractLogger $logger;

    protected function setUp(): void
    {
        $this->storage = new TokenBucketStorageMemory();
        $this->handler = new class implements RequestHandlerInterface {
            public int $handled = 0;
            public int|Closure $status = 200;
            public string $body = '';
            /** @var array<string, TokenBucket\Decision> those of the last request */
            public array $decisions = [];

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                $this->handled++;
                $this->decisions = $request->getAttribute(RateLimitMiddleware::DECISIONS, []);
                $status = $this->status instanceof Closure ? ($this->status)() : $this->status;
                $factory = new Psr17Factory();
                return $factory->createResponse($status)->withBody($factory->createStream($this->body));
            }
        };
        $this->logger = new class extends AbstractLogger {
            public array $lines = [];
            public array $contexts = [];

            public function log($level, $message, array $context = []): void
            {
                $this->contexts[] = [$level, $context];
                $this->lines[] = strtr($message, array_filter(['{limit}' => $context['limit'] ?? null, '{reason}' => $context['reason'] ?? null]));
            }
        };
    }

    public function testAllowsTheCapacityAndDeniesTheNextRequestOfTheSameKey(): void
    {
        $limits = [$this->byAddress('ip', 2, 60)];
        self::assertSame([200, 200, 429, 429], $this->statuses(4, $limits, '192.0.2.1'));
        self::assertSame([200], $this->statuses(1, $limits, '192.0.2.2'));
        self::assertSame(3, $this->handler->handled);
        $this->storage->advance(30);
        self::assertSame([200, 429], $this->statuses(2, $limits, '192.0.2.1'));
    }

    public function testSendsTheHeadersOfGrantsAndDenials(): void
    {
        $limits = [$this->byAddress('ip', 2, 60)];
        $grant = $this->answer($limits);
        self::assertSame('"ip";q=2;w=60', $grant->getHeaderLine('RateLimit-Policy'));
        self::assertSame('"ip";r=1;t=30', $grant->getHeaderLine('RateLimit'));
        self::assertFalse($grant->hasHeader('Retry-After'));
        $this->answer($limits);
        $denial = $this->answer($limits);
        self::assertSame('"ip";r=0;t=30', $denial->getHeaderLine('RateLimit'));
        self::assertSame('30', $denial->getHeaderLine('Retry-After'));
        self::assertSame('', (string) $denial->getBody());
    }

    public function testARefusedRequestTakesNoTokensOfOtherLimits(): void
    {
        $limits = [$this->byAddress('ip', 10, 60), new Limit('global', 2, 60, fn () => 'all')];
        self::assertSame([200, 200, 429, 429, 429], $this->statuses(5, $limits));
        self::assertSame('"global";q=2;w=60', $this->answer($limits)->getHeaderLine('RateLimit-Policy'));
        self::assertSame('"ip";r=7;t=42', $this->answer([$limits[0]])->getHeaderLine('RateLimit'));
    }

    public function testNamesTheLimitWithTheFewestTokensInAGrant(): void
    {
        $limits = [$this->byAddress('minute', 7, 60), $this->byAddress('hour', 7, 3600), $this->byAddress('day', 3, 86400)];
        self::assertSame('"day";q=3;w=86400', $this->answer($limits)->getHeaderLine('RateLimit-Policy'));
        $this->answer([$limits[1]]);
        $response = $this->answer([$limits[0], $limits[1]]);
        self::assertSame('"hour";q=7;w=3600', $response->getHeaderLine('RateLimit-Policy'));
        self::assertSame('"hour";r=4;t=2058', $response->getHeaderLine('RateLimit'));
    }

    public function testSkipsALimitWithoutKeyAndTakesTheCost(): void
    {
        $ofUser = new Limit('user', 10, 60, fn (ServerRequestInterface $request) => $request->getAttribute('user'), fn () => 4);
        self::assertFalse($this->answer([$ofUser])->hasHeader('RateLimit'));
        self::assertSame([200, 200, 429], $this->statuses(3, [$ofUser], user: 'alice'));
    }

    public function testSendsAProblemDocument(): void
    {
        $limits = [$this->byAddress('ip', 1, 60)];
        $this->answer($limits);
        $denial = $this->answer($limits, problem: true);
        self::assertSame('application/problem+json', $denial->getHeaderLine('Content-Type'));
        self::assertSame([
            'type' => 'https://iana.org/assignments/http-problem-types#quota-exceeded',
            'title' => 'Request cannot be satisfied as assigned quota has been exceeded',
            'status' => 429,
            'violated-policies' => ['ip'],
        ], json_decode((string) $denial->getBody(), true));
    }

    public function testTheLogAndTheProblemDocumentNameTheLimitThatDenies(): void
    {
        $limits = [$this->byAddress('ip', 10, 60), $this->byAddress('hour', 4, 3600)];
        $this->statuses(4, $limits);
        $this->storage->advance(300);
        $denial = $this->answer($limits, problem: true);
        self::assertSame(['hour'], json_decode((string) $denial->getBody(), true)['violated-policies']);
        // The bucket is full after 3300 seconds.
        self::assertSame([['notice', ['limit' => 'hour', 'reason' => 'insufficient_tokens', 'retry_after' => 600.0]]], $this->logger->contexts);
    }

    public function testAnUnavailableStoreIsAProblemOfItsOwn(): void
    {
        $this->storage = new TokenBucketStorageRedis('unix:///nonexistent/redis.sock', onFailure: OnFailure::Deny);
        $denial = $this->answer([$this->byAddress('ip', 1, 60)], problem: true);
        self::assertSame([
            'type' => 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
            'title' => 'Request cannot be satisfied due to temporary server capacity constraints',
            'status' => 503,
        ], array_slice(json_decode((string) $denial->getBody(), true), 0, 3));
        self::assertSame(503, $denial->getStatusCode());
    }

    public function testAddsItsHeadersToThoseOfAnotherLimiter(): void
    {
        $inner = new RateLimitMiddleware(new Psr17Factory(), $this->storage, [$this->byAddress('inner', 2, 60)]);
        $handler = $this->handler;
        $this->handler = $this->createStub(RequestHandlerInterface::class);
        $this->handler->method('handle')->willReturnCallback(fn (ServerRequestInterface $request) => $inner->process($request, $handler));
        $response = $this->answer([$this->byAddress('outer', 9, 1.5)]);
        self::assertSame(['"inner";q=2;w=60', '"outer";q=9;w=2'], $response->getHeader('RateLimit-Policy'));
        self::assertSame(['"inner";r=1;t=30', '"outer";r=8;t=2'], $response->getHeader('RateLimit'));
        self::assertEquals(['inner' => 1, 'outer' => 8], array_map(fn ($decision) => $decision->remaining, $handler->decisions));
    }

    public function testNamesALimitWithAFractionOfASecond(): void
    {
        $limits = [$this->byAddress('slow', 9, 60), $this->byAddress('fast', 5, 0.5), $this->byAddress('between', 7, 1.5)];
        self::assertSame('"fast";q=5;w=1', $this->answer($limits)->getHeaderLine('RateLimit-Policy'));
    }

    public function testObserveModeLogsDenialsAndDeniesNothing(): void
    {
        $limits = [$this->byAddress('ip', 1, 60)];
        for ($i = 0; $i < 3; $i++) {
            $response = $this->answer($limits, observe: true);
            self::assertSame(200, $response->getStatusCode());
            self::assertFalse($response->hasHeader('RateLimit'));
            $seen[] = [$this->handler->decisions['ip']->allowed, $this->handler->decisions['ip']->refusedBy];
        }
        self::assertSame([[true, null], [false, 'ip'], [false, 'ip']], $seen);
        self::assertSame(array_fill(0, 2, 'The limit "ip" would deny this request: insufficient_tokens'), $this->logger->lines);
    }

    public function testRejectsLimitsThatCannotWork(): void
    {
        foreach ([[0, 60], [1, 0], [1, NAN]] as [$tokens, $seconds]) {
            try {
                $this->byAddress('ip', $tokens, $seconds);
                self::fail("$tokens tokens in $seconds seconds were accepted");
            } catch (ValueError $e) {
                self::assertSame('The tokens and seconds of the limit "ip" must be greater than 0', $e->getMessage());
            }
        }
        try {
            $this->byAddress("b\xc3\xbcro", 1, 1);
            self::fail('a name that no header can have');
        } catch (ValueError $e) {
            self::assertSame('The name of a limit must contain only printable ASCII characters', $e->getMessage());
        }
        try {
            $this->answer([['name' => 'ip', 'tokens' => 1]]);
            self::fail('an array is no limit');
        } catch (TypeError $e) {
            self::assertStringEndsWith('Argument #3 ($limits) must contain only TokenBucket\Bridge\Psr15\Limit objects', $e->getMessage());
        }
        $this->expectExceptionMessage('Two limits have the same name');
        $this->answer([$this->byAddress('ip', 1, 1), $this->byAddress('ip', 2, 2)]);
    }

    public function testLimitsOfTwoMiddlewareDoNotDenyEachOther(): void
    {
        $ofAll = [$this->byAddress('all', 100, 60)];
        $ofLogins = [$this->byAddress('logins', 5, 3600)];
        self::assertSame([200], $this->statuses(1, $ofAll));
        self::assertSame([200, 200, 200, 200, 200, 429], $this->statuses(6, $ofLogins));
        self::assertSame([200], $this->statuses(1, $ofAll));
    }

    public function testComputedNumbersMakeNoNewBucket(): void
    {
        $statuses = [];
        foreach (range(1, 60) as $i) {
            array_push($statuses, ...$this->statuses(1, [$this->byAddress('codes', 20 - $i % 7, 43200 - $i)]));
        }
        self::assertLessThanOrEqual(20, array_count_values($statuses)[200]);
    }

    public function testNamesAndKeysDoNotMerge(): void
    {
        $limit = fn (string $name, int $tokens, string $key) => [new Limit($name, $tokens, 4, fn () => $key)];
        foreach ([['a', '1:4:x'], ['a:1:4', 'x'], ['a:1', '4:x'], ['', 'a:1:4:x'], ['a:1:4:x', '']] as [$name, $key]) {
            self::assertSame([200, 429], $this->statuses(2, $limit($name, 1, $key)), "$name $key");
        }
        self::assertSame([200, 200, 429], $this->statuses(3, $limit('a', 2, '3:4:x')));
        self::assertSame([200, 200, 200, 429], $this->statuses(4, $limit('a:2:4', 3, 'x')));
    }

    public function testLimitsBeyondThoseOfABucketAreShortened(): void
    {
        foreach ([[PHP_INT_MAX, 1], [10 ** 17, 60], [5, 1e10], [3, 1e300]] as [$tokens, $seconds]) {
            $response = $this->answer([$this->byAddress("$tokens", $tokens, $seconds), $this->byAddress('second', PHP_INT_MAX, 1e12)]);
            self::assertSame(200, $response->getStatusCode());
            self::assertStringStartsWith("\"$tokens\";r=", $response->getHeaderLine('RateLimit'));
        }
        self::assertSame(PHP_INT_MAX / 1e15, $this->byAddress('short', PHP_INT_MAX, 1e-9)->seconds);
        // Here, rounding makes tokens / seconds greater than 10^15, the highest rate of a bucket.
        self::assertSame(200, $this->answer([$this->byAddress('rounded', 5_623_241_252_408_853_290, 1e-9)])->getStatusCode());
        self::assertSame('"short";q=999999999999999;w=9224', $this->answer([$this->byAddress('short', PHP_INT_MAX, 1e-9)])->getHeaderLine('RateLimit-Policy'));
        $limits = [$this->byAddress('unlimited', PHP_INT_MAX, 60), $this->byAddress('huge', 10 ** 15, 1)];
        self::assertSame('"huge";q=999999999999999;w=1', $this->answer($limits)->getHeaderLine('RateLimit-Policy'));
    }

    public function testTheResponseToAnExceptionHasTheHeaders(): void
    {
        $this->responds(fn () => throw new DomainException('x'));
        $errors = fn (Throwable $e, ServerRequestInterface $request) => (new Psr17Factory())->createResponse(500, $e->getMessage() . $request->getMethod());
        $limits = [$this->byAddress('ip', 1, 60)];
        $middleware = new RateLimitMiddleware(new Psr17Factory(), $this->storage, $limits, errors: $errors);
        $request = new ServerRequest('GET', '/', serverParams: ['REMOTE_ADDR' => '192.0.2.1']);
        $response = $middleware->process($request, $this->handler);
        self::assertSame(['xGET', '"ip";r=0;t=60'], [$response->getReasonPhrase(), $response->getHeaderLine('RateLimit')]);
        self::assertSame(429, $middleware->process($request, $this->handler)->getStatusCode());
        $this->expectException(DomainException::class);
        $this->answer($limits, '192.0.2.2');
    }

    public function testOnlyResponsesThatCountKeepTheirTokens(): void
    {
        $limits = [$this->wrongPasswords(3)];
        self::assertSame(array_fill(0, 10, 200), $this->statuses(10, $limits));
        $this->responds(401);
        self::assertSame([401, 401, 401, 429], $this->statuses(4, $limits));
        self::assertSame(13, $this->handler->handled);
        $this->responds(200);
        self::assertSame(429, $this->answer($limits)->getStatusCode());
        $this->storage->advance(20);
        $response = $this->answer($limits);
        self::assertSame([200, '"wrong";r=0;t=20'], [$response->getStatusCode(), $response->getHeaderLine('RateLimit')]);
        self::assertSame(200, $this->answer($limits)->getStatusCode());
    }

    public function testRequestsInFlightHoldTheirTokens(): void
    {
        $limits = [$this->wrongPasswords(2)];
        $inner = [];
        $this->responds(function () use ($limits, &$inner): int {
            $this->responds(function () use ($limits, &$inner): int {
                $inner[] = $this->answer($limits)->getStatusCode();
                return 200;
            });
            $inner[] = $this->answer($limits)->getStatusCode();
            return 200;
        });
        self::assertSame(200, $this->answer($limits)->getStatusCode());
        self::assertSame([429, 200], $inner);
        $this->responds(401);
        self::assertSame([401, 401, 429], $this->statuses(3, $limits));
    }

    public function testTokensThatWereRefilledInTheMeantimeAreNotGivenBackAgain(): void
    {
        $limits = [$this->wrongPasswords(3)];
        $wrong = [];
        $this->responds(function () use ($limits, &$wrong): int {
            $this->storage->advance(60);
            $this->responds(401);
            $wrong = $this->statuses(4, $limits);
            return 200;
        });
        self::assertSame(200, $this->answer($limits)->getStatusCode());
        self::assertSame([401, 401, 401, 429], $wrong);
        $this->responds(401);
        self::assertSame(429, $this->answer($limits)->getStatusCode());
    }

    public function testAnExceptionKeepsTheToken(): void
    {
        $limits = [$this->wrongPasswords(1)];
        $this->responds(fn () => throw new DomainException('x'));
        try {
            $this->answer($limits);
            self::fail('the exception passes');
        } catch (DomainException) {
        }
        self::assertSame(429, $this->answer($limits)->getStatusCode());
    }

    public function testChargesTheBytesOfAResponse(): void
    {
        $bytes = new Limit('bytes', 1000, 1000, fn () => 'all', fn () => 100, fn (ResponseInterface $response) => $response->getBody()->getSize());
        $this->responds(200, str_repeat('x', 30));
        $this->answer([$bytes]);
        $this->responds(200, str_repeat('x', 1500));
        self::assertStringStartsWith('"bytes";r=870;', $this->answer([$bytes])->getHeaderLine('RateLimit'));
        // The bucket owes 530 tokens, and the next request needs 100.
        $this->storage->advance(629);
        self::assertSame(429, $this->answer([$bytes])->getStatusCode());
        $this->storage->advance(1);
        self::assertSame(200, $this->answer([$bytes])->getStatusCode());
    }

    public function testADenialOfAnotherLimitGivesTheTokensBack(): void
    {
        $wrong = $this->wrongPasswords(2);
        $ofAll = new Limit('all', 1, 60, fn () => 'all');
        $this->responds(401);
        self::assertSame([401, 429, 429], $this->statuses(3, [$wrong, $ofAll]));
        self::assertSame('"all";q=1;w=60', $this->answer([$wrong, $ofAll])->getHeaderLine('RateLimit-Policy'));
        self::assertSame([401, 429], $this->statuses(2, [$wrong]));
        $this->storage->advance(30);
        self::assertSame([429], $this->statuses(1, [$wrong, $ofAll, new Limit('hour', 9, 3600, fn () => 'all')]));
        self::assertSame([401], $this->statuses(1, [$wrong]));
        // A denial of the counted limit takes nothing from the others.
        $this->storage->advance(29);
        self::assertSame('"wrong";q=2;w=60', $this->answer([$ofAll, $wrong])->getHeaderLine('RateLimit-Policy'));
        $this->storage->advance(1);
        self::assertSame([401], $this->statuses(1, [$ofAll]));
    }

    public function testAStoreThatFailsAfterTheRequestSpoilsNoResponse(): void
    {
        $redis = RedisServer::start();
        $this->storage = new TokenBucketStorageRedis("unix://$redis->socket", 'psr15:' . getmypid(), 5.0, onFailure: OnFailure::Throw);
        $this->responds(function () use ($redis): int {
            $redis->kill();
            return 200;
        });
        self::assertSame(200, $this->answer([$this->wrongPasswords(1)])->getStatusCode());
        self::assertSame('warning', $this->logger->contexts[0][0]);
    }

    /** Sets the status of the handler's responses, or a function that returns it. */
    private function responds(int|Closure $status, string $body = ''): void
    {
        $this->handler->status = $status;
        $this->handler->body = $body;
    }

    private function wrongPasswords(int $tokens): Limit
    {
        return new Limit('wrong', $tokens, 60, fn () => 'all', count: fn (ResponseInterface $response) => $response->getStatusCode() === 401 ? 1 : 0);
    }

    private function byAddress(string $name, int $tokens, float $seconds): Limit
    {
        return new Limit($name, $tokens, $seconds, fn (ServerRequestInterface $request) => $request->getServerParams()['REMOTE_ADDR']);
    }

    /** @param list<Limit> $limits */
    private function answer(array $limits, string $address = '192.0.2.1', ?string $user = null, bool $problem = false, bool $observe = false): ResponseInterface
    {
        $middleware = new RateLimitMiddleware(new Psr17Factory(), $this->storage, $limits, $problem, $observe, $this->logger);
        $request = new ServerRequest('GET', '/', serverParams: ['REMOTE_ADDR' => $address]);
        return $middleware->process($request->withAttribute('user', $user), $this->handler);
    }

    /** @return list<int> */
    private function statuses(int $requests, array $limits, string $address = '192.0.2.1', ?string $user = null): array
    {
        return array_map(fn () => $this->answer($limits, $address, $user)->getStatusCode(), range(1, $requests));
    }
}
