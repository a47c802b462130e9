<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Foundation\Bootstrap\BootProviders;
use Illuminate\Foundation\Bootstrap\LoadConfiguration;
use Illuminate\Foundation\Bootstrap\RegisterFacades;
use Illuminate\Foundation\Bootstrap\RegisterProviders;
use RedisServer;
use TokenBucket\OnFailure;
use ValueError;

require_once dirname(__DIR__, 3) . '/tools/testkit/php/servers.php';
require_once dirname(__DIR__, 3) . '/tools/testkit/php/examples.php';

final class SettingsTest extends BridgeTestCase
{
    /** @var list<string> the folders of applications */
    private array $folders = [];

    protected function tearDown(): void
    {
        parent::tearDown();
        array_map(fn (string $folder) => exec('rm -rf ' . escapeshellarg($folder)), $this->folders);
    }

    public function testEmptySettingsAreMissingSettings(): void
    {
        $limiter = $this->application(APPLICATION, ['storage' => '', 'prefix' => '', 'timeout' => '', 'on_failure' => '']);
        $key = 'empty' . getmypid();
        $this->assertSame([true, false], [$limiter->attempt($key, 1, fn () => true, 3600), $limiter->attempt($key, 1, fn () => true, 3600)]);
    }

    public function testThePolicyMayHaveAnyCaseAndIsLocalByDefault(): void
    {
        $attempt = function (array $settings, string $key = 'denied'): bool {
            $limiter = $this->application(APPLICATION, $settings + ['storage' => 'unix:///nonexistent/redis.sock']);
            return $limiter->attempt($key, 1, fn () => true, 3600);
        };
        foreach (['deny', 'DENY', 'Deny', OnFailure::Deny] as $policy) {
            $this->assertFalse($attempt(['on_failure' => $policy]));
        }
        foreach (['missing' => [], 'empty' => ['on_failure' => '']] as $key => $settings) {
            $this->assertSame([true, false], [$attempt($settings, $key), $attempt($settings, $key)], $key);
        }
    }

    public function testWindowsMayBeAListOrText(): void
    {
        foreach (['', ' ', 'day', 'hour, day', ['minute', 'week']] as $windows) {
            $this->assertInstanceOf(LaravelRateLimiter::class, $this->application(APPLICATION, ['windows' => $windows]));
        }
    }

    public function testTheApplicationStartsInATimeZoneThatPhpDoesNotKnow(): void
    {
        foreach (['', 'Mars/Base', null] as $zone) {
            foreach ([true, false] as $enabled) {
                foreach (['', 'day'] as $windows) {
                    $limiter = $this->application(APPLICATION, ['enabled' => $enabled, 'windows' => $windows], ['app.timezone' => $zone], start: true);
                    $this->assertTrue($limiter->attempt(bin2hex(random_bytes(8)), 1, fn () => true, 86400));
                }
            }
        }
    }

    public function testWrongSettingsAreReportedWhenTheApplicationStarts(): void
    {
        $windows = 'The setting tokenbucket.windows in config/tokenbucket.php may have minute, hour, day and week, not "';
        foreach ([
            ['Invalid setting tokenbucket.storage in config/tokenbucket.php: TokenBucketStorageRedis', ['storage' => 'redis://user:secret@host:99999']],
            ['Invalid setting tokenbucket.storage in config/tokenbucket.php: TokenBucketStorageMemcached', ['storage' => 'memcached://host:port']],
            ['Invalid setting tokenbucket.timeout in config/tokenbucket.php: ', ['storage' => 'redis://host', 'timeout' => 'soon']],
            ['The setting tokenbucket.on_failure in config/tokenbucket.php must be Local, Allow, Deny or Throw, not "none"', ['storage' => 'redis://host', 'on_failure' => 'none']],
            ['The setting tokenbucket.limits in config/tokenbucket.php needs the attempts and the seconds of "login:*"', ['limits' => ['api' => [5, 60], 'login:*' => 5]]],
            ['The setting tokenbucket.strage in config/tokenbucket.php is unknown', ['strage' => 'shared-memory']],
            [$windows, ['windows' => 'month']],
            [$windows, ['windows' => ['day', 'days']]],
            [$windows, ['windows' => 'hour;day']],
        ] as [$message, $settings]) {
            try {
                $this->application(APPLICATION, $settings, start: true);
                $this->fail("$message was not reported");
            } catch (ValueError $e) {
                $this->assertStringStartsWith($message, $e->getMessage());
                $this->assertStringNotContainsString('secret', "$e");
            }
        }
        $this->assertInstanceOf(LaravelRateLimiter::class, $this->application(APPLICATION, ['enabled' => false, 'storage' => 'wrong'], start: true));
    }

    public function testAMissingExtensionIsReportedWhenTheApplicationStarts(): void
    {
        $arguments = str_replace(escapeshellarg('extension=' . getenv('TOKENBUCKET')), 'display_errors=1', example_arguments(['mbstring', 'tokenizer', 'ctype', 'dom', 'iconv']));
        exec(escapeshellarg(PHP_BINARY) . " $arguments " . escapeshellarg(APPLICATION . '/artisan') . ' config:cache 2>&1', $output, $code);
        $output = preg_replace('/\s+/', ' ', implode(' ', $output));
        $this->assertNotSame(0, $code);
        $this->assertStringContainsString('tokenbucket/laravel needs the extension tokenbucket, which this PHP does not load. TOKENBUCKET_ENABLED=false in .env leaves all limits to Laravel.', $output);
    }

    public function testAnOldCachedConfigurationLeavesTheLimitsToLaravelUntilItIsCleared(): void
    {
        $folder = $this->folder();
        $run = function (string $command) use ($folder): string {
            exec(escapeshellarg(PHP_BINARY) . ' ' . example_arguments(['mbstring', 'tokenizer', 'ctype', 'dom', 'iconv']) . ' ' . escapeshellarg("$folder/artisan") . " $command 2>&1", $output, $code);
            $this->assertSame(0, $code, implode("\n", $output));
            return implode("\n", $output);
        };
        $run('config:cache');
        $cached = require "$folder/bootstrap/cache/config.php";
        unset($cached['tokenbucket']);
        file_put_contents("$folder/bootstrap/cache/config.php", '<?php return ' . var_export($cached, true) . ';');
        $this->assertStringNotContainsString('tokenbucket:reset', $run('list --format=json'));
        // An older version of the bridge had fewer settings.
        file_put_contents("$folder/bootstrap/cache/config.php", '<?php return ' . var_export($cached + ['tokenbucket' => ['storage' => 'shared-memory']], true) . ';');
        $this->assertStringContainsString('tokenbucket:reset', $run('list --format=json'));
        $run('config:clear');
        $this->assertStringContainsString('tokenbucket:reset', $run('list --format=json'));
    }

    public function testApplicationsInTwoFoldersHaveBucketsOfTheirOwn(): void
    {
        $key = 'folders' . getmypid();
        foreach ([APPLICATION, $this->folder(), $this->folder()] as $folder) {
            $limiter = $this->application($folder, []);
            $granted[] = [$limiter->attempt($key, 1, fn () => true, 3600), $limiter->attempt($key, 1, fn () => true, 3600)];
        }
        $this->assertSame(array_fill(0, 3, [true, false]), $granted);
    }

    public function testTheItemsOfTheCacheAndTheBucketsHaveOtherKeys(): void
    {
        if (!extension_loaded('redis')) {
            $this->markTestSkipped('The extension redis is missing');
        }
        $redis = RedisServer::start();
        foreach ([null, 'example_'] as $prefix) {
            $limiter = $this->application(APPLICATION, ['storage' => "redis://127.0.0.1:$redis->port", 'timeout' => 10, 'prefix' => $prefix], [
                'cache.default' => 'redis', 'database.redis.options' => ['prefix' => ''],
                'database.redis.default' => ['host' => '127.0.0.1', 'port' => $redis->port, 'database' => 0],
            ], $cache);
            $cache->put('geocode', 'the answer', 300);
            $granted = array_map(fn () => $limiter->attempt('geocode', 2, fn () => true, 3600), range(1, 3));
            $this->assertSame([[true, true, false], 'the answer'], [$granted, $cache->get('geocode')]);
            $cache->put('geocode', 'another', 300);
            $this->assertFalse($limiter->attempt('geocode', 2, fn () => true, 3600));
            // A key that looks like the name of a route's bucket has a bucket of its own.
            $this->assertTrue($limiter->attempt('limit:2:3600:geocode', 2, fn () => true));
        }
    }

    public function testTheKeyOfAnAttemptIsNotTheBucketOfARoute(): void
    {
        $this->route('throttle:1,1');
        $this->assertAnswer(200, 1, 0);
        $signature = sha1('|127.0.0.1');
        foreach (["$signature|1|60", "limit:1:60:$signature", $signature] as $key) {
            $this->assertTrue($this->limiter()->attempt($key, 1, fn () => true, 3600));
        }
        $this->assertAnswer(429, 1, 0, 60);
    }

    /** Returns the limiter of the application in a folder, and the application's cache. */
    private function application(string $folder, array $settings, array $config = [], mixed &$cache = null, bool $start = false): LaravelRateLimiter
    {
        $app = require "$folder/bootstrap/app.php";
        $app->bootstrapWith([LoadConfiguration::class, RegisterFacades::class]);
        $app['config']->set($config + ['cache.prefix' => 'example_', 'tokenbucket' => $settings + ['enabled' => true, 'limits' => []]]);
        $app->bootstrapWith($start ? [RegisterProviders::class, BootProviders::class] : [RegisterProviders::class]);
        $cache = $app->make('cache')->driver();
        return $app->make(LaravelRateLimiter::class);
    }

    private function folder(): string
    {
        $folder = sys_get_temp_dir() . '/tokenbucket-laravel-' . bin2hex(random_bytes(6));
        install_application($folder);
        return $this->folders[] = $folder;
    }
}
