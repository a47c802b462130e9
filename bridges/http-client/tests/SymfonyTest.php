<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Symfony\Component\HttpClient\CurlHttpClient;
use Symfony\Component\HttpClient\NativeHttpClient;
use Symfony\Component\HttpClient\Retry\GenericRetryStrategy;
use Symfony\Component\HttpClient\RetryableHttpClient;
use Symfony\Component\HttpClient\ThrottlingHttpClient;
use Symfony\Component\RateLimiter\LimiterInterface;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Contracts\HttpClient\Exception\TransportExceptionInterface;
use Symfony\Contracts\HttpClient\HttpClientInterface;
use TokenBucket;
use TokenBucket\Bridge\HttpClient\Symfony\DeniedException;
use TokenBucket\Bridge\HttpClient\Symfony\RateLimitedHttpClient;
use TokenBucket\OnFailure;
use TokenBucket\StorageException;
use TokenBucketStorageMemory;
use TokenBucketStorageRedis;
use TokenBucketStorageSharedMemory;

/** Tests the decorator over each client of Symfony, against a server that counts. */
final class SymfonyTest extends TestCase
{
    private static PeerServer $server;
    private TokenBucketStorageMemory $memory;
    private string $path;

    public static function setUpBeforeClass(): void
    {
        if (Kernel::MAJOR_VERSION < 6) {
            self::markTestSkipped('The responses of Symfony 5.4 cannot be extended');
        }
        self::$server = new PeerServer();
    }

    public static function tearDownAfterClass(): void
    {
        isset(self::$server) && self::$server->stop();
    }

    protected function setUp(): void
    {
        $this->memory = new TokenBucketStorageMemory();
        $this->path = '/ok/' . bin2hex(random_bytes(4));
    }

    /** @return iterable<string, array{class-string<HttpClientInterface>}> */
    public static function clients(): iterable
    {
        yield 'native' => [NativeHttpClient::class];
        if (extension_loaded('curl')) {
            yield 'curl' => [CurlHttpClient::class];
        }
    }

    #[DataProvider('clients')]
    public function testADeniedRequestIsNotSent(string $class): void
    {
        $client = $this->client($class, $this->bucket(2, 0.1));
        self::assertSame([200, 200], [$this->get($client), $this->get($client)]);
        try {
            $client->request('GET', self::$server->url . $this->path);
            self::fail('The bucket is empty');
        } catch (DeniedException $e) {
            self::assertInstanceOf(TransportExceptionInterface::class, $e);
            self::assertSame('The request was not sent: insufficient_tokens, retry after 10.000 s', $e->getMessage());
            self::assertSame([false, 10.0], [$e->decision->allowed, $e->decision->retryAfter]);
        }
        self::assertSame(2, self::$server->requests($this->path));
    }

    #[DataProvider('clients')]
    public function testRequestsAreSentWhenTheirTokensAreDue(string $class): void
    {
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory('symfony' . getmypid()), uniqid(), 2, 25);
        $client = $this->client($class, $bucket, maxWait: 60);
        $begin = hrtime(true);
        $responses = array_map(fn () => $client->request('GET', self::$server->url . $this->path), range(1, 8));
        $statuses = [];
        foreach ($client->stream($responses) as $response => $chunk) {
            if ($chunk->isLast()) {
                $statuses[] = $response->getStatusCode();
            }
        }
        self::assertSame(array_fill(0, 8, 200), $statuses);
        $instants = self::$server->instants($this->path);
        self::assertCount(8, $instants);
        foreach ($instants as $i => $instant) {
            self::assertGreaterThanOrEqual(max(0, $i - 1) * 40_000_000, $instant - $begin, "request $i");
        }
    }

    #[DataProvider('clients')]
    public function testASignalDoesNotEndThePause(string $class): void
    {
        $client = $this->client($class, new TokenBucket(new TokenBucketStorageSharedMemory('symfony' . getmypid()), uniqid(), 1, 2), maxWait: 60);
        $begin = hrtime(true);
        $this->get($client);
        Signals::during($this, fn () => $this->get($client));
        self::assertGreaterThanOrEqual(500_000_000, self::$server->instants($this->path)[1] - $begin);
    }

    #[DataProvider('clients')]
    public function testEachRetryTakesATokenAndADenialIsNotRetried(string $class): void
    {
        $path = '/flaky/' . bin2hex(random_bytes(4));
        $bucket = $this->bucket(4, 1);
        $client = new RetryableHttpClient($this->client($class, $bucket), new GenericRetryStrategy(delayMs: 0), 9);
        self::assertSame(200, $client->request('GET', self::$server->url . "$path?times=2")->getStatusCode());
        self::assertSame([3, 1.0], [self::$server->requests($path), $bucket->peek()->remaining]);
        $this->expectExceptionObject(new \RuntimeException('The request was not sent: insufficient_tokens, retry after 1.000 s'));
        try {
            $client->request('GET', self::$server->url . "$path?times=9")->getStatusCode();
        } finally {
            self::assertSame(4, self::$server->requests($path));
        }
    }

    #[DataProvider('clients')]
    public function testAStoreThatFailsAtARetryLeavesTheResponse(string $class): void
    {
        $broken = new TokenBucket(new TokenBucketStorageRedis('unix:///nonexistent/redis.sock', onFailure: OnFailure::Throw), 'peer', 1, 1);
        $calls = 0;
        $bucketOf = function () use (&$calls, $broken): TokenBucket {
            return $calls++ === 0 ? $this->bucket(1, 1) : $broken;
        };
        $client = new RetryableHttpClient($this->client($class, $bucketOf), new GenericRetryStrategy(delayMs: 0), 3);
        $path = '/flaky/' . bin2hex(random_bytes(4));
        $response = $client->request('GET', self::$server->url . "$path?times=9");
        self::assertSame([503, '', 1], [$response->getStatusCode(), $response->getContent(false), self::$server->requests($path)]);
        self::assertNotSame([], $response->getHeaders(false));
        $this->expectException(StorageException::class);
        $client->request('GET', self::$server->url . $path)->getStatusCode();
    }

    #[DataProvider('clients')]
    public function testARetryWithAShorterDelayWaitsForItsToken(string $class): void
    {
        $path = '/flaky/' . bin2hex(random_bytes(4));
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory('symfony' . getmypid()), uniqid(), 1, 10);
        $client = new RetryableHttpClient($this->client($class, $bucket, maxWait: 60), new GenericRetryStrategy(delayMs: 1), 9);
        $begin = hrtime(true);
        self::assertSame(200, $client->request('GET', self::$server->url . "$path?times=3")->getStatusCode());
        $instants = self::$server->instants($path);
        self::assertCount(4, $instants);
        foreach ($instants as $i => $instant) {
            self::assertGreaterThanOrEqual($i * 100_000_000, $instant - $begin, "request $i");
        }
    }

    #[DataProvider('clients')]
    public function testRedirectsAreChargedAfterwards(string $class): void
    {
        $before = self::$server->requests('/redirect');
        $bucket = $this->bucket(5, 1);
        self::assertSame(200, $this->client($class, $bucket)->request('GET', self::$server->url . '/redirect?times=3')->getStatusCode());
        self::assertSame([4, 1.0], [self::$server->requests('/redirect') - $before, $bucket->peek()->remaining]);
        // Each URL may have a bucket of its own.
        $other = new TokenBucket($this->memory, 'other', 5, 1);
        $bucketOf = fn (string $method, string $url) => str_contains($url, 'times=0') ? $other : (str_contains($url, 'times=1') ? $bucket : null);
        $this->client($class, $bucketOf)->request('GET', self::$server->url . '/redirect?times=1')->getContent();
        $this->client($class, $bucketOf)->request('GET', self::$server->url . '/redirect?times=9', ['max_redirects' => 2])->getStatusCode();
        self::assertSame([0.0, 4.0], [$bucket->peek()->remaining, $other->peek()->remaining]);
    }

    #[DataProvider('clients')]
    public function testRedirectsAreChargedOnceIfTheLastTransferFailsOrIsCancelled(string $class): void
    {
        $silent = stream_socket_server('tcp://127.0.0.1:0');
        foreach (['127.0.0.1:1' => false, stream_socket_get_name($silent, false) => true] as $address => $isCancelled) {
            $bucket = new TokenBucket($this->memory, $address, 5, 1);
            $progress = function (int $now, int $size, array $info) use (&$response, $isCancelled): void {
                $isCancelled && $info['redirect_count'] > 0 && $response->cancel();
            };
            $options = ['timeout' => 0.2, 'on_progress' => $progress];
            $response = $this->client($class, $bucket)->request('GET', self::$server->reply(302, ["Location: http://$address/"]), $options);
            try {
                $response->getStatusCode();
                self::fail('The server of the redirect does not reply');
            } catch (TransportExceptionInterface|\LogicException) {
                $response->cancel();
            }
            self::assertSame(3.0, $bucket->peek()->remaining, $address);
        }
    }

    #[DataProvider('clients')]
    public function testACancelledRequestWhoseTokenIsNotDueGivesTheTokenBack(string $class): void
    {
        $bucket = $this->bucket(1, 0.01);
        $client = $this->client($class, $bucket, maxWait: 1000);
        $sent = $client->request('GET', self::$server->url . $this->path);
        $waiting = $client->request('GET', self::$server->url . $this->path);
        self::assertSame(-1.0, $bucket->peek(0)->remaining);
        $waiting->cancel();
        self::assertSame(0.0, $bucket->peek(0)->remaining);
        self::assertSame(200, $sent->getStatusCode());
        $sent->cancel();
        self::assertSame(0.0, $bucket->peek(0)->remaining);
        $bucket->reset();
        // The token of a request that may have been sent is not given back.
        $client->request('GET', self::$server->url . $this->path)->cancel();
        self::assertSame(0.0, $bucket->peek(0)->remaining);
        self::assertLessThanOrEqual(2, self::$server->requests($this->path));
    }

    #[DataProvider('clients')]
    public function testARequestWithoutABucketIsNotLimited(string $class): void
    {
        $client = $this->client($class, fn (string $method, string $url, array $options) => $method === 'POST' ? $this->bucket(1, 1) : null);
        self::assertSame([200, 200], [$this->get($client), $this->get($client)]);
        self::assertSame(200, $client->request('POST', self::$server->url . $this->path)->getStatusCode());
        $this->expectException(DeniedException::class);
        $client->withOptions(['timeout' => 9])->request('POST', self::$server->url . $this->path);
    }

    #[DataProvider('clients')]
    public function testAFailureOfTheTransferPasses(string $class): void
    {
        $response = $this->client($class, $bucket = $this->bucket(2, 1))->request('GET', 'http://127.0.0.1:1/');
        try {
            $response->getStatusCode();
            self::fail('Nothing listens on port 1');
        } catch (TransportExceptionInterface) {
            self::assertSame(1.0, $bucket->peek()->remaining);
        }
        try {
            $this->client($class, $bucket)->request('GET', 'gopher://127.0.0.1:1/');
            self::fail('The scheme is not supported');
        } catch (TransportExceptionInterface) {
            self::assertSame(1.0, $bucket->peek()->remaining, 'the request was not sent');
        }
    }

    #[DataProvider('clients')]
    public function testAReplyOfTheServerStopsTheRequestsOfItsBucket(string $class): void
    {
        foreach ([[429, 30.0], [200, 0.0]] as [$status, $seconds]) {
            $client = $this->client($class, $bucket = new TokenBucket($this->memory, "$status", 10, 0.5));
            self::assertSame($status, $client->request('GET', self::$server->reply($status, ['Retry-After: 30']))->getStatusCode());
            self::assertSame($seconds, $bucket->peek()->retryAfter);
        }
    }

    #[DataProvider('clients')]
    public function testSymfonysThrottlingClientIgnores429AndItsResetRefillsTheBucket(string $class): void
    {
        if (!class_exists(ThrottlingHttpClient::class)) {
            self::markTestSkipped('Symfony has ThrottlingHttpClient since 7.1');
        }
        $limiter = self::limiterOfSymfony(8);
        $counts = [];
        foreach (['symfony' => new ThrottlingHttpClient(new $class(), $limiter), 'ours' => $this->client($class, $this->bucket(8, 1 / 3600))] as $name => $client) {
            $path = '/limited/' . bin2hex(random_bytes(4));
            $send = function (int $times) use ($client, $path): array {
                $statuses = [];
                for ($i = 0; $i < $times; $i++) {
                    try {
                        $statuses[] = $client->request('GET', self::$server->url . "$path?limit=3")->getStatusCode();
                    } catch (DeniedException) {
                        $statuses[] = 'denied';
                    }
                }
                return array_count_values($statuses);
            };
            $counts[$name][] = $send(8);
            $client->reset();
            $counts[$name][] = $send(8);
            $counts[$name][] = self::$server->requests($path);
        }
        self::assertSame([[200 => 3, 429 => 5], [429 => 8], 16], $counts['symfony']);
        self::assertSame([[200 => 3, 429 => 1, 'denied' => 4], ['denied' => 8], 4], $counts['ours']);
    }

    private static function limiterOfSymfony(int $limit): LimiterInterface
    {
        return (new RateLimiterFactory(['id' => 'peer', 'policy' => 'token_bucket', 'limit' => $limit, 'rate' => ['interval' => '1 hour']], new InMemoryStorage()))->create();
    }

    private function bucket(float $capacity, float $rate): TokenBucket
    {
        return new TokenBucket($this->memory, 'peer', $capacity, $rate);
    }

    private function client(string $class, TokenBucket|\Closure $bucket, float $maxWait = 0.0): RateLimitedHttpClient
    {
        return new RateLimitedHttpClient(new $class(), $bucket instanceof \Closure ? $bucket : fn () => $bucket, $maxWait);
    }

    private function get(HttpClientInterface $client): int
    {
        return $client->request('GET', self::$server->url . $this->path)->getStatusCode();
    }
}
