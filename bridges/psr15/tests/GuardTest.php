<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

/** Runs the middleware in processes with limits of php.ini, which code cannot set. */
final class GuardTest extends TestCase
{
    private const CODE = <<<'PHP'
        use Nyholm\Psr7\Factory\Psr17Factory;
        use Nyholm\Psr7\ServerRequest;
        use Psr\Http\Message\{ResponseInterface, ServerRequestInterface};
        use TokenBucket\Bridge\Psr15\RateLimitMiddleware;

        require getenv('BOOTSTRAP');
        final class Handler implements Psr\Http\Server\RequestHandlerInterface
        {
            public ?Closure $inner = null;

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                $inner = $this->inner;
                $this->inner = null;
                return (new Psr17Factory())->createResponse($inner === null ? 200 : 200 + $inner());
            }
        }
        function send(Handler $handler, string $address, string $uri, array $headers = [], bool $guard = true, array $params = [], array $cookies = []): ResponseInterface
        {
            $middleware = new RateLimitMiddleware(new Psr17Factory(), new TokenBucketStorageMemory(), [], guard: $guard);
            $request = new ServerRequest('GET', "http://example.org$uri", $headers, null, '1.1', ['REMOTE_ADDR' => $address] + $params);
            return $middleware->process($request->withCookieParams($cookies), $handler);
        }
        $handler = new Handler();
        PHP;

    public function testAppliesTheLimitsOfPhpIniBeforeTheHandler(): void
    {
        $printed = $this->run_code('ip 1/day burst 2', <<<'PHP'
            foreach (['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'] as $address) {
                echo send($handler, $address, '/')->getStatusCode(), ' ';
            }
            $denied = send($handler, '192.0.2.1', '/');
            echo $denied->getHeaderLine('RateLimit-Policy'), ' ', $denied->getHeaderLine('Cache-Control'), ' ', $denied->getHeaderLine('Retry-After') > 0 ? 'later' : 'now';
            PHP);
        self::assertSame('200 200 429 200 "guard";q=2;w=172800 no-store later', $printed);
    }

    public function testIsOffByDefault(): void
    {
        $printed = $this->run_code('ip 1/day', 'foreach ([1, 2] as $_) { echo send($handler, "192.0.2.1", "/", guard: false)->getStatusCode(), " "; }');
        self::assertSame('200 200 ', $printed);
    }

    public function testPassesThePathTheHeadersAndTheCookies(): void
    {
        $printed = $this->run_code('on /login unless cookie a,b agent bot all 1/day', <<<'PHP'
            foreach ([
                ['/', ['User-Agent' => 'bot']], ['/login?x', ['User-Agent' => 'Bot']], ['/login', ['User-Agent' => 'bot']],
                ['/login', ['User-Agent' => 'bot', 'Cookie' => ['x=1', 'b=2']]], ['/login', ['User-Agent' => 'bot', 'Cookie_' => 'a=1', 'X_Cookie' => 'a']],
            ] as [$uri, $headers]) {
                echo send($handler, '192.0.2.1', $uri, $headers)->getStatusCode(), ' ';
            }
            PHP);
        self::assertSame('200 200 429 200 429 ', $printed);
    }

    /** RoadRunner's worker makes a variable of each header, so that the last of two names wins. */
    public function testAClientCannotReplaceTheHeaderOfAProxy(): void
    {
        $printed = $this->run_code('ip 1/day', <<<'PHP'
            foreach (['203.0.113.1', '203.0.113.2'] as $forged) {
                $headers = ['X-Forwarded-For' => '192.0.2.1', 'X_Forwarded_For' => $forged];
                echo send($handler, '10.0.0.1', '/', $headers, params: ['HTTP_X_FORWARDED_FOR' => $forged])->getStatusCode(), ' ';
            }
            echo send($handler, '10.0.0.1', '/', ['X-Forwarded-For' => ['192.0.2.2', '192.0.2.1']])->getStatusCode();
            PHP, '10.0.0.1');
        self::assertSame('200 429 429', $printed);
    }

    /** Swoole passes cookies, but no header "Cookie". */
    public function testReadsTheCookiesOfTheRequest(): void
    {
        $printed = $this->run_code('unless cookie session all 1/day', <<<'PHP'
            foreach ([[], ['session' => 'a; b'], ['other' => 'session=1'], ['session' => ['a' => 'b']]] as $cookies) {
                echo send($handler, '192.0.2.1', '/', cookies: $cookies)->getStatusCode(), ' ';
            }
            PHP);
        self::assertSame('200 200 429 200 ', $printed);
    }

    public function testHoldsPermitsWhileTheHandlerRuns(): void
    {
        foreach (['all' => 503, 'header:X' => 503, 'ip' => 429] as $key => $status) {
            $printed = $this->run_code("$key concurrent 1", <<<'PHP'
                $handler->inner = fn () => send($handler, '192.0.2.1', '/')->getStatusCode() - 400;
                echo send($handler, '192.0.2.1', '/')->getStatusCode() + 200, ' ', send($handler, '192.0.2.1', '/')->getStatusCode();
                PHP);
            self::assertSame("$status 200", $printed, $key);
        }
    }

    private function run_code(string $guard, string $code, string $proxies = ''): string
    {
        $arguments = ['-n', '-d', 'extension=' . getenv('TOKENBUCKET'), '-d', 'include_path=' . get_include_path(), '-d', "tokenbucket.guard=\"$guard\"", '-d', "tokenbucket.guard_trusted_proxies=\"$proxies\"", '-r', self::CODE . $code];
        putenv('BOOTSTRAP=' . __DIR__ . '/bootstrap.php');
        return (string) shell_exec(escapeshellarg(PHP_BINARY) . ' ' . implode(' ', array_map(escapeshellarg(...), $arguments)) . ' 2>&1');
    }
}
