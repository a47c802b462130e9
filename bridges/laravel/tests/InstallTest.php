<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Foundation\Application;
use NewUser;
use PHPUnit\Framework\TestCase;

require_once dirname(__DIR__, 3) . '/tools/testkit/php/new_user.php';

/** Does what docs/how-to/laravel.md says, with Composer. */
final class InstallTest extends TestCase
{
    private const REQUESTS = <<<'SH'
        CACHE_DRIVER=array php -r '
            require "vendor/autoload.php";
            $kernel = (require "bootstrap/app.php")->make(Illuminate\Contracts\Http\Kernel::class);
            for ($i = 0; $i < 150; $i++) {
                $request = Illuminate\Http\Request::create("/downloads", server: ["HTTP_ACCEPT" => "application/json"]);
                $status = $kernel->handle($request)->getStatusCode();
                $statuses[$status] = ($statuses[$status] ?? 0) + 1;
            }
            echo json_encode([$statuses, TokenBucket\status()["shared_memory"]["granted"]]);'
        SH;

    public function testInstallsAndRollsBack(): void
    {
        if (!NewUser::isAble()) {
            $this->markTestSkipped('Composer is missing or does not run on this PHP');
        }
        $parts = ['illuminate/cache', 'illuminate/console', 'illuminate/http', 'illuminate/routing', 'illuminate/support'];
        $folder = dirname(stream_resolve_include_path('Illuminate/autoload.php'));
        $user = new NewUser('laravel', ['laravel/framework' => [Application::VERSION, 'Illuminate/autoload.php', $parts, $folder]]);
        $this->assertSame([[200 => 100, 429 => 50], 0], $this->requests($user));

        $user->run($user->block('sh', 'composer require'));
        $this->assertSame([[200 => 100, 429 => 50], 100], $this->requests($user));
        $user->run($user->command('php artisan vendor:publish'));
        $this->assertFileEquals(dirname(__DIR__) . '/config/tokenbucket.php', "$user->folder/config/tokenbucket.php");

        $user->write('.env', $user->command('TOKENBUCKET_ENABLED='));
        $user->run($user->command('php artisan config:cache'));
        $this->assertSame([[200 => 100, 429 => 50], 0], $this->requests($user));
        $user->run($user->command('composer remove '));
        $this->assertSame([[200 => 100, 429 => 50], 0], $this->requests($user));
    }

    /** Returns the number of responses by status, and the number of tokens from buckets. */
    private function requests(NewUser $user): array
    {
        return json_decode($user->run(self::REQUESTS), true);
    }
}
