<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use GuzzleHttp\Client;
use GuzzleHttp\Handler\MockHandler;
use GuzzleHttp\HandlerStack;
use GuzzleHttp\Psr7\Response;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\RequestInterface;
use Symfony\Component\HttpClient\MockHttpClient;
use Symfony\Component\HttpClient\Response\MockResponse;
use Symfony\Component\HttpClient\ScopingHttpClient;
use Symfony\Component\HttpClient\TraceableHttpClient;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Contracts\HttpClient\HttpClientInterface;
use TokenBucket\Bridge\HttpClient\Guzzle\RateLimit;
use TokenBucket\Bridge\HttpClient\Symfony\RateLimitedHttpClient;

/** Compares the URLs by which an application chooses a bucket with the URLs that are requested. */
final class UrlsTest extends TestCase
{
    private const BASE = 'https://api.example/v1/';

    public function testTheBucketIsChosenByTheUrlThatSymfonyRequests(): void
    {
        if (Kernel::MAJOR_VERSION < 6) {
            self::markTestSkipped('The responses of Symfony 5.4 cannot be extended');
        }
        $scoped = fn (HttpClientInterface $client) => ScopingHttpClient::forBaseUri($client, self::BASE, ['query' => ['a' => 1]]);
        $stacks = [
            'option of a request' => fn ($client, $limit) => [$limit($client), ['base_uri' => self::BASE, 'query' => ['a' => 1]]],
            'default options' => fn ($client, $limit) => [$limit($client)->withOptions(['base_uri' => self::BASE])->withOptions(['query' => ['a' => 1]]), []],
            'scope outside' => fn ($client, $limit) => [$scoped($limit($client)), []],
            'scope inside' => fn ($client, $limit) => [$limit(new TraceableHttpClient($scoped($client))), []],
            'options inside' => fn ($client, $limit) => [$limit($client->withOptions(['base_uri' => self::BASE, 'query' => ['a' => 1]])), []],
        ];
        foreach ($stacks as $name => $stack) {
            foreach (['users', '/users', '', '?b=2', '../users?a=3', '//other.example/x', 'HTTPS://API.Example:443/x#y', 'http://api.example:8080/%7Ex'] as $url) {
                $sent = $seen = [];
                $mock = new MockHttpClient(function (string $method, string $url) use (&$sent) {
                    $sent[] = $url;
                    return new MockResponse();
                }, null);
                $bucketOf = function (string $method, string $url) use (&$seen) {
                    $seen[] = $url;
                    return null;
                };
                [$client, $options] = $stack($mock, fn ($client) => new RateLimitedHttpClient($client, $bucketOf));
                $client->request('GET', $url, $options)->getStatusCode();
                self::assertSame($sent, $seen, "$name: $url");
                self::assertCount(1, $sent);
            }
        }
    }

    public function testASpellingOfAHostIsTheHost(): void
    {
        $hosts = [];
        $stack = new HandlerStack(new MockHandler(array_fill(0, 4, new Response())));
        $stack->push(new RateLimit(function (RequestInterface $request) use (&$hosts) {
            $hosts[] = $request->getUri()->getHost();
            return null;
        }));
        $client = new Client(['handler' => $stack, 'base_uri' => 'https://API.example/v1/']);
        foreach (['users', '/users', 'https://Api.Example:443/', 'https://api.example./'] as $url) {
            $client->get($url);
        }
        if (Kernel::MAJOR_VERSION >= 6) {
            $client = new RateLimitedHttpClient(new MockHttpClient(fn () => new MockResponse()), function (string $method, string $url) use (&$hosts) {
                $hosts[] = parse_url($url, PHP_URL_HOST);
                return null;
            });
            foreach (['https://API.EXAMPLE', 'https://api.example.:8443/', 'https://api.example./'] as $url) {
                $client->request('GET', $url)->getStatusCode();
            }
        }
        self::assertSame(['api.example'], array_values(array_unique($hosts)));
    }
}
