<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/new_user.php';

/** Does what docs/how-to/psr15.md says, with Composer. */
final class InstallTest extends TestCase
{
    private const REQUESTS = <<<'SH'
        php -r '
            $_SERVER = ["REQUEST_METHOD" => "GET", "REQUEST_URI" => "/search", "REMOTE_ADDR" => "192.0.2.1"] + $_SERVER;
            for ($i = 0; $i < 101; $i++) {
                ob_start();
                require "public/index.php";
                $body = ob_get_clean();
                $statuses[http_response_code()] = ($statuses[http_response_code()] ?? 0) + 1;
            }
            echo json_encode([$statuses, $body, TokenBucket\status()["shared_memory"]["granted"]]);'
        SH;

    public function testInstallsAndRollsBack(): void
    {
        if (!NewUser::isAble()) {
            self::markTestSkipped('Composer is missing or does not run on this PHP');
        }
        $user = new NewUser('psr15', [
            'nikic/fast-route' => ['1.3.0', 'FastRoute/autoload.php'],
            'nyholm/psr7' => ['1.5.1', 'Nyholm/Psr7/autoload.php'],
            'psr/http-factory' => ['1.0.1', null],
            'psr/http-message' => ['1.0.1', null],
            // Debian has no packages of these interfaces.
            'psr/http-server-handler' => ['1.0.1', __DIR__ . '/http_server.php'],
            'psr/http-server-middleware' => ['1.0.1', null],
            'psr/log' => ['1.1.4', 'Psr/Log/autoload.php'],
        ]);
        // The application before the installation.
        $user->write('config/middleware.php', "<?php\nuse App\\Application;\n\nreturn static function (Application \$application, \$responses): void {\n};\n");
        self::assertSame([[200 => 101], "found\n", 0], $this->requests($user));

        $user->run($user->block('sh', 'composer require'));
        [$use, $lines] = explode("\n\n", $user->added('RateLimitMiddleware'), 2);
        $user->replace('config/middleware.php', "\n\nreturn", "\n$use\n\nreturn");
        $user->replace('config/middleware.php', "{\n", "{\n$lines");
        self::assertSame([[200 => 100, 429 => 1], '', 100], $this->requests($user));

        $user->replace('config/middleware.php', $lines, '');
        $user->run($user->command('composer remove '));
        $user->replace('config/middleware.php', $use, '');
        self::assertSame([[200 => 101], "found\n", 0], $this->requests($user));
    }

    /** Returns the number of responses by status, the last body, and the tokens from buckets. */
    private function requests(NewUser $user): array
    {
        return json_decode($user->run(self::REQUESTS), true);
    }
}
