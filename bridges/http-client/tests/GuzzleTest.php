<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use GuzzleHttp\Client;
use GuzzleHttp\Exception\TransferException;
use GuzzleHttp\Handler\CurlHandler;
use GuzzleHttp\Handler\CurlMultiHandler;
use GuzzleHttp\Handler\StreamHandler;
use GuzzleHttp\HandlerStack;
use GuzzleHttp\Middleware;
use GuzzleHttp\Pool;
use GuzzleHttp\Promise\FulfilledPromise;
use GuzzleHttp\Promise\Promise;
use GuzzleHttp\Psr7\Request;
use GuzzleHttp\Psr7\Response;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Message\RequestInterface;
use TokenBucket;
use TokenBucket\Bridge\HttpClient\Guzzle\DeniedException;
use TokenBucket\Bridge\HttpClient\Guzzle\RateLimit;
use TokenBucket\OnFailure;
use TokenBucket\StorageException;
use TokenBucketStorageMemory;
use TokenBucketStorageRedis;
use TokenBucketStorageSharedMemory;

/** Tests the middleware with each handler of Guzzle, against a server that counts. */
final class GuzzleTest extends TestCase
{
    private static PeerServer $server;
    private TokenBucketStorageMemory $memory;

    public static function setUpBeforeClass(): void
    {
        self::$server = new PeerServer();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server->stop();
    }

    protected function setUp(): void
    {
        $this->memory = new TokenBucketStorageMemory();
    }

    /** @return iterable<string, array{callable}> */
    public static function handlers(): iterable
    {
        yield 'stream' => [new StreamHandler()];
        if (extension_loaded('curl')) {
            yield 'curl' => [new CurlHandler()];
            yield 'curl_multi' => [new CurlMultiHandler()];
        }
    }

    #[DataProvider('handlers')]
    public function testADeniedRequestIsNotSent(callable $handler): void
    {
        $before = self::$server->requests('/ok');
        $client = $this->client($this->bucket(2, 0.1), handler: $handler);
        self::assertSame([200, 200], [$client->get('/ok')->getStatusCode(), $client->get('/ok')->getStatusCode()]);
        try {
            $client->get('/ok');
            self::fail('The bucket is empty');
        } catch (DeniedException $e) {
            self::assertInstanceOf(TransferException::class, $e);
            self::assertInstanceOf(ClientExceptionInterface::class, $e);
            self::assertSame('The request was not sent: insufficient_tokens, retry after 10.000 s', $e->getMessage());
            self::assertSame([false, 10.0], [$e->decision->allowed, $e->decision->retryAfter]);
        }
        self::assertSame($before + 2, self::$server->requests('/ok'));
    }

    #[DataProvider('handlers')]
    public function testEachRedirectTakesAToken(callable $handler): void
    {
        $before = self::$server->requests('/redirect');
        $client = $this->client($bucket = $this->bucket(5, 1), handler: $handler);
        $client->get('/redirect?times=2');
        self::assertSame(2.0, $bucket->peek()->remaining);
        try {
            $client->get('/redirect?times=2');
            self::fail('The second redirect has no token');
        } catch (DeniedException) {
            self::assertSame($before + 5, self::$server->requests('/redirect'));
        }
    }

    #[DataProvider('handlers')]
    public function testEachRetryTakesATokenAndADenialIsNotRetried(callable $handler): void
    {
        $tried = 0;
        $retry = Middleware::retry(
            // The example of docs/how-to/limit-outbound-requests.md, which does not retry a denial.
            function (int $retries, RequestInterface $request, ?object $response = null, ?object $reason = null) use (&$tried): bool {
                $tried++;
                return $retries < 9 && ($response?->getStatusCode() === 503 || $reason !== null && !$reason instanceof DeniedException);
            },
            fn () => 0,
        );
        $bucket = $this->bucket(4, 1);
        $client = $this->client($bucket, handler: $handler, retry: $retry);
        $path = '/flaky/' . bin2hex(random_bytes(4));
        self::assertSame(200, $client->get("$path?times=2")->getStatusCode());
        self::assertSame([3, 3, 1.0], [$tried, self::$server->requests($path), $bucket->peek()->remaining]);
        try {
            $client->get("$path?times=9");
            self::fail('The retry has no token');
        } catch (DeniedException) {
            self::assertSame([5, 4], [$tried, self::$server->requests($path)]);
        }
    }

    #[DataProvider('handlers')]
    public function testAStoreThatFailsAtARetryLeavesTheResponse(callable $handler): void
    {
        $healthy = $this->bucket(1, 1);
        $broken = new TokenBucket(new TokenBucketStorageRedis('unix:///nonexistent/redis.sock', onFailure: OnFailure::Throw), 'peer', 1, 1);
        $calls = 0;
        $bucketOf = function () use (&$calls, $healthy, $broken): TokenBucket {
            return $calls++ === 0 ? $healthy : $broken;
        };
        $decider = fn (int $retries, RequestInterface $request, ?object $response = null) => $retries < 3 && $response?->getStatusCode() === 503;
        $client = $this->client($bucketOf, handler: $handler, retry: Middleware::retry($decider, fn () => 0));
        $path = '/flaky/' . bin2hex(random_bytes(4));
        $response = $client->get("$path?times=9");
        self::assertSame([503, 'body', 1], [$response->getStatusCode(), (string) $response->getBody(), self::$server->requests($path)]);
        $this->expectException(StorageException::class);
        $client->get($path);
    }

    public function testTheDelayIsTheLongerOneInWholeMilliseconds(): void
    {
        if (!extension_loaded('curl')) {
            self::markTestSkipped('Without curl, every handler sleeps');
        }
        $delays = [];
        $handler = function (RequestInterface $request, array $options) use (&$delays): FulfilledPromise {
            $delays[] = $options['delay'] ?? null;
            return new FulfilledPromise(new Response());
        };
        $limited = (new RateLimit(fn () => $this->bucket(1, 3), maxWait: 10))($handler);
        $options = ['delay' => 500];
        foreach ([[], [], [], $options, $options] as $given) {
            $limited(new Request('GET', '/'), $given)->wait();
        }
        // 0, 333.3…, 666.6…, 1000 and 1333.3… ms after the reservation.
        self::assertSame([null, 334, 667, 1000, 1334], $delays);
        $this->memory->advance(60);
        $limited(new Request('GET', '/'), $options)->wait();
        $limited(new Request('GET', '/'), $options)->wait();
        self::assertSame([500, 500], array_slice($delays, 5));
        self::assertSame(['delay' => 500], $options);
    }

    public function testARequestWithoutABucketIsNotLimited(): void
    {
        $client = $this->client(fn (RequestInterface $request) => $request->getUri()->getPath() === '/ok' ? null : $this->bucket(1, 1));
        for ($i = 0; $i < 3; $i++) {
            self::assertSame(200, $client->get('/ok')->getStatusCode());
        }
        $client->get('/redirect');
        $this->expectException(DeniedException::class);
        $client->get('/redirect');
    }

    #[DataProvider('handlers')]
    public function testAPoolSendsEachRequestWhenItsTokenIsDue(callable $handler): void
    {
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory('guzzle' . getmypid()), uniqid(), 4, 50);
        $client = $this->client($bucket, maxWait: 60, handler: $handler);
        $path = '/ok/' . bin2hex(random_bytes(4));
        $begin = hrtime(true);
        $statuses = [];
        $requests = fn () => yield from array_fill(0, 24, new Request('GET', self::$server->url . $path));
        (new Pool($client, $requests(), ['concurrency' => 6, 'fulfilled' => function ($response) use (&$statuses): void {
            $statuses[] = $response->getStatusCode();
        }]))->promise()->wait();
        self::assertSame(array_fill(0, 24, 200), $statuses);
        $instants = self::$server->instants($path);
        self::assertCount(24, $instants);
        foreach ($instants as $i => $instant) {
            self::assertGreaterThanOrEqual(max(0, $i - 3) * 20_000_000, $instant - $begin, "request $i");
        }
    }

    #[DataProvider('handlers')]
    public function testASignalDoesNotEndTheDelay(callable $handler): void
    {
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory('guzzle' . getmypid()), uniqid(), 1, 2);
        $client = $this->client($bucket, maxWait: 60, handler: $handler);
        $path = '/ok/' . bin2hex(random_bytes(4));
        $begin = hrtime(true);
        $client->get($path);
        Signals::during($this, fn () => $client->get($path));
        self::assertGreaterThanOrEqual(500_000_000, self::$server->instants($path)[1] - $begin);
    }

    public function testALongerDelayOfARetryIsNotAddedToTheSleep(): void
    {
        $delays = [];
        $handler = function (RequestInterface $request, array $options) use (&$delays): FulfilledPromise {
            $delays[] = $options['delay'] ?? null;
            return new FulfilledPromise(new Response());
        };
        $limited = (new RateLimit(fn () => $this->bucket(1, 4), maxWait: 10))($handler);
        foreach ([[], ['delay' => 100], ['delay' => 600], []] as $options) {
            // The clock of the bucket advances by itself while a request waits.
            $limited(new Request('GET', '/'), ['synchronous' => true] + $options)->wait();
        }
        self::assertSame([null, 0, 350, null], $delays);
    }

    public function testARequestThatIsCancelledBeforeItsTokenIsDueGivesTheTokenBack(): void
    {
        if (!extension_loaded('curl')) {
            self::markTestSkipped('Only the handler of curl_multi can cancel');
        }
        $path = '/ok/' . bin2hex(random_bytes(4));
        $client = $this->client($bucket = $this->bucket(1, 0.01), maxWait: 1000, handler: new CurlMultiHandler());
        $sent = $client->getAsync($path);
        $waiting = $client->getAsync($path);
        self::assertSame(-1.0, $bucket->peek(0)->remaining);
        $waiting->cancel();
        self::assertSame(0.0, $bucket->peek(0)->remaining);
        self::assertSame(200, $sent->wait()->getStatusCode());
        // The token of a request that may have been sent is not given back.
        $bucket->reset();
        $client->getAsync($path)->cancel();
        self::assertSame(0.0, $bucket->peek(0)->remaining);
        self::assertSame('rejected', $waiting->getState());
        self::assertLessThanOrEqual(2, self::$server->requests($path));
    }

    public function testCancellingCancelsTheTransfer(): void
    {
        $cancelled = 0;
        $limited = (new RateLimit(fn () => $this->bucket(1, 1), maxWait: 10))(function () use (&$cancelled): Promise {
            return new Promise(cancelFn: function () use (&$cancelled): void {
                $cancelled++;
            });
        });
        foreach ([1, 2] as $sent) {
            $promise = $limited(new Request('GET', '/'), []);
            $promise->cancel();
            self::assertSame([$sent, 'rejected'], [$cancelled, $promise->getState()]);
        }
    }

    #[DataProvider('handlers')]
    public function testAFailureOfTheTransferPassesAndKeepsTheToken(callable $handler): void
    {
        $client = $this->client($bucket = $this->bucket(2, 1), handler: $handler);
        try {
            $client->get('http://127.0.0.1:1/');
            self::fail('Nothing listens on port 1');
        } catch (\GuzzleHttp\Exception\ConnectException) {
            self::assertSame(1.0, $bucket->peek(0)->remaining);
        }
    }

    #[DataProvider('handlers')]
    public function testARequestThatIsRefusedBeforeItIsSentGivesTheTokenBack(callable $handler): void
    {
        $client = $this->client($bucket = $this->bucket(2, 1), handler: $handler);
        $invalid = $handler instanceof StreamHandler ? ['stream_context' => ''] : ['cert' => '/nonexistent'];
        // A callback that throws after the transfer is the control.
        foreach ([1 => ['on_stats' => fn () => throw new \DomainException('done')], 2 => $invalid] as $left => $options) {
            $bucket->reset();
            try {
                $client->get('https://127.0.0.1:1/', $options);
                self::fail('Nothing listens on port 1');
            } catch (TransferException|\LogicException) {
                self::assertSame((float) $left, $bucket->peek(0)->remaining);
            }
        }
    }

    #[DataProvider('handlers')]
    public function testAReplyOfTheServerStopsTheRequestsOfItsBucket(callable $handler): void
    {
        foreach ([[429, 30.0], [200, 0.0]] as [$status, $seconds]) {
            $client = $this->client($bucket = new TokenBucket($this->memory, "$status", 10, 0.5), handler: $handler);
            self::assertSame($status, $client->get(self::$server->reply($status, ['Retry-After: 30']))->getStatusCode());
            self::assertSame($seconds, $bucket->peek()->retryAfter);
        }
    }

    #[DataProvider('handlers')]
    public function testATransferThatFailsAfterTheHeadersStopsTheRequestsToo(callable $handler): void
    {
        $client = $this->client($bucket = $this->bucket(10, 1), handler: $handler);
        try {
            (string) $client->get(self::$server->reply(429, ['Retry-After: 30'], length: 100))->getBody();
        } catch (TransferException $e) {
            self::assertNotInstanceOf(DeniedException::class, $e);
        }
        self::assertSame(30.0, $bucket->peek()->retryAfter);
    }

    public function testNumbersOutOfRangeAreRefused(): void
    {
        foreach ([[-1.0, 1.0], [NAN, 1.0], [0.0, -1.0], [0.0, INF], [0.0, NAN]] as [$maxWait, $maxBlock]) {
            try {
                new RateLimit(fn () => null, $maxWait, $maxBlock);
                self::fail("$maxWait and $maxBlock were accepted");
            } catch (\ValueError $e) {
                self::assertContains($e->getMessage(), ['$maxWait must be 0 or more', '$maxBlock must be between 0 and 1e9']);
            }
        }
        self::assertIsObject(new RateLimit(fn () => null, INF, 0.0));
    }

    private function bucket(float $capacity, float $rate): TokenBucket
    {
        return new TokenBucket($this->memory, 'peer', $capacity, $rate);
    }

    private function client(TokenBucket|\Closure $bucket, float $maxWait = 0.0, ?callable $handler = null, ?callable $retry = null): Client
    {
        $stack = HandlerStack::create($handler);
        $retry === null || $stack->push($retry);
        $stack->push(new RateLimit($bucket instanceof \Closure ? $bucket : fn () => $bucket, $maxWait));
        return new Client(['handler' => $stack, 'base_uri' => self::$server->url, 'http_errors' => false]);
    }
}
