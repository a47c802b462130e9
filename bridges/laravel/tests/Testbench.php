<?php

declare(strict_types=1);

namespace Orchestra\Testbench;

use Illuminate\Contracts\Http\Kernel;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Bootstrap\HandleExceptions;
use Illuminate\Http\Request;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Illuminate\Support\Carbon;
use TokenBucketStorage;
use TokenBucketStorageMemory;

/**
 * The part of Orchestra's Testbench that Laravel's own tests use. Debian has no package of it.
 *
 * The application is the example, with the cache and the buckets in memory. The clock of the
 * buckets follows Carbon's clock.
 */
abstract class TestCase extends \Illuminate\Foundation\Testing\TestCase
{
    public function createApplication(): Application
    {
        putenv('CACHE_DRIVER=array');
        $app = require APPLICATION . '/bootstrap/app.php';
        $storage = new TokenBucketStorageMemory();
        $app->instance(TokenBucketStorage::class, $storage);
        $last = null;
        $app->beforeResolving(ThrottleRequests::class, function () use ($storage, &$last): void {
            $now = Carbon::now()->getPreciseTimestamp(6);
            $storage->advance(max(0, $now - ($last ?? $now)) / 1e6);
            $last = $now;
        });
        $app->instance('request', Request::create('/'));
        $app->make(Kernel::class)->bootstrap();
        if (method_exists($this, 'getEnvironmentSetUp')) {
            $this->getEnvironmentSetUp($app);
        }
        return $app;
    }

    /** Does nothing, because the application has no database. */
    protected function setUpTraits(): array
    {
        return [];
    }

    protected function tearDown(): void
    {
        Carbon::setTestNow();
        parent::tearDown();
        // Laravel 8 and 10 do not remove their error handlers, which PHPUnit would report.
        if (!method_exists(HandleExceptions::class, 'flushHandlersState')) {
            restore_error_handler();
            restore_exception_handler();
        }
    }
}
