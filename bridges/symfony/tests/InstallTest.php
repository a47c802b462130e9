<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use NewUser;
use PHPUnit\Framework\TestCase;
use Symfony\Component\HttpKernel\Kernel;

require_once __DIR__ . '/../../../tools/testkit/php/new_user.php';

/** Does what docs/how-to/symfony.md says, with Composer. */
final class InstallTest extends TestCase
{
    private const REQUESTS = <<<'SH'
        APP_ENV=prod php -r '
            require "vendor/autoload.php";
            $kernel = new App\Kernel("prod", false);
            for ($i = 0; $i < 150; $i++) {
                $status = $kernel->handle(Symfony\Component\HttpFoundation\Request::create("/?key=a"))->getStatusCode();
                $statuses[$status] = ($statuses[$status] ?? 0) + 1;
            }
            echo json_encode([$statuses, TokenBucket\status()["shared_memory"]["granted"]]);'
        SH;

    public function testInstallsAndRollsBack(): void
    {
        if (!NewUser::isAble()) {
            self::markTestSkipped('Composer is missing or does not run on this PHP');
        }
        $symfony = fn (string $package) => [Kernel::VERSION, "Symfony/$package/autoload.php"];
        $user = new NewUser('symfony', [
            'symfony/framework-bundle' => $symfony('Bundle/FrameworkBundle'),
            'symfony/console' => $symfony('Component/Console'),
            'symfony/rate-limiter' => $symfony('Component/RateLimiter'),
            'symfony/string' => $symfony('Component/String'),
            'symfony/yaml' => $symfony('Component/Yaml'),
        ]);
        // FrameworkBundle 7.4 uses this package, but Debian's autoloader does not load it.
        $user->run('composer require symfony/string');
        $line = $user->added('TokenBucketBundle');
        // The application before the installation.
        $user->replace('config/bundles.php', "    TokenBucket\\Bridge\\Symfony\\TokenBucketBundle::class => ['all' => true, 'plain' => false, 'unlimited' => false],\n", '');
        foreach (['prod', 'redis'] as $environment) {
            unlink("$user->folder/config/packages/$environment/token_bucket.yaml");
        }
        self::assertSame([[200 => 100, 429 => 50], 0], self::requests($user));

        $user->run($user->block('sh', 'composer require'));
        $user->replace('config/bundles.php', "];\n", "$line];\n");
        $user->write('config/packages/token_bucket.yaml', $user->block('yaml', 'namespace:'));
        $user->run('rm -r var/cache');
        self::assertSame([[200 => 100, 429 => 50], 100], self::requests($user));

        $user->replace('config/bundles.php', $line, '');
        unlink("$user->folder/config/packages/token_bucket.yaml");
        $user->run('rm -r var/cache');
        $user->run($user->command('composer remove '));
        self::assertSame([[200 => 100, 429 => 50], 0], self::requests($user));
    }

    /** Returns the number of responses by status, and the number of tokens from buckets. */
    private static function requests(NewUser $user): array
    {
        return json_decode($user->run(self::REQUESTS), true);
    }
}
