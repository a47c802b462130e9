<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/examples.php';
require_once __DIR__ . '/../../../tools/testkit/php/fpm.php';
require_once __DIR__ . '/../../../tools/testkit/php/nginx.php';

/** Counts only wrong passwords, in eight workers of php-fpm at the same time. */
final class CountTest extends TestCase
{
    private const LIMIT = 20;
    private const PAGE = <<<'PHP'
        <?php
        use Nyholm\Psr7\Factory\Psr17Factory;
        use Psr\Http\Message\{ResponseInterface, ServerRequestInterface};
        use Psr\Http\Server\RequestHandlerInterface;
        use TokenBucket\Bridge\Psr15\{Limit, RateLimitMiddleware};

        require $_SERVER['BOOTSTRAP'];
        $handler = new class implements RequestHandlerInterface {
            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                $isRight = password_verify($_GET['password'], '$2y$04$abcdefghijklmnopqrstuuQ.b3YU5oTXTHVyFp9gZ7lVHLTkWLwc2');
                return (new Psr17Factory())->createResponse($isRight ? 200 : 401);
            }
        };
        $count = fn (ResponseInterface $response): int => $response->getStatusCode() === 401 ? 1 : 0;
        $storage = new TokenBucketStorageSharedMemory();
        $request = (new Psr17Factory())->createServerRequest('GET', '/');
        if (isset($_GET['checks'])) {
            // Control: checks first, and takes the token of a response that counts afterwards.
            $bucket = new TokenBucket($storage, $_GET['key'], 20, 1e-5);
            $response = (new Psr17Factory())->createResponse(429);
            if ($bucket->peek()->allowed) {
                $response = $handler->handle($request);
                $bucket->charge($count($response));
            }
        } else {
            $limit = new Limit('wrong', 20, 2e6, fn () => $_GET['key'], count: $count);
            $response = (new RateLimitMiddleware(new Psr17Factory(), $storage, [$limit]))->process($request, $handler);
        }
        http_response_code($response->getStatusCode());
        PHP;

    private Fpm $fpm;
    private Nginx $nginx;

    protected function setUp(): void
    {
        $this->fpm = new Fpm(['www' => ['listen.mode' => '0666', 'pm.max_children' => 8]], arguments: example_arguments(['ctype', 'mbstring', 'opcache']));
        $hash = password_hash('right', PASSWORD_BCRYPT, ['cost' => 6]);
        $this->fpm->script('login', preg_replace(['/\'\$2y[^\']+\'/', '/\$_SERVER\[.BOOTSTRAP.\]/'], [addcslashes(var_export($hash, true), '$'), var_export(__DIR__ . '/bootstrap.php', true)], self::PAGE));
        $this->nginx = new Nginx($this->fpm);
    }

    protected function tearDown(): void
    {
        $this->nginx->kill();
        $this->fpm->stop();
    }

    public function testParallelWrongPasswordsNeverExceedTheLimitAndRightOnesLoseNothing(): void
    {
        for ($round = 1; $round <= 3; $round++) {
            // At most eight requests hold a token, and there are more.
            self::assertSame([200 => 200], $this->send("round-$round", 'right', 200));
            self::assertSame([401 => self::LIMIT, 429 => 100 - self::LIMIT], $this->send("round-$round", 'wrong', 100));
            self::assertSame([429 => 8], $this->send("round-$round", 'right', 8));
        }
    }

    public function testMoreWrongPasswordsPassIfTheTokenIsTakenAfterwards(): void
    {
        // The control does not lose the race in every round.
        for ($round = 1, $wrong = 0; $round <= 20 && $wrong <= self::LIMIT; $round++) {
            $wrong = $this->send("control-$round", 'wrong&checks=1', 100)[401];
        }
        self::assertGreaterThan(self::LIMIT, $wrong);
    }

    /** @return array<int, int> the number of responses by status, of eight clients at once */
    private function send(string $key, string $password, int $requests): array
    {
        return send_requests($this->nginx->port, "/login?key=$key&password=$password", $requests);
    }
}
