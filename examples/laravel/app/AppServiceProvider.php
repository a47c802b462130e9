<?php

declare(strict_types=1);

namespace App;

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\RateLimiter;
use Illuminate\Support\ServiceProvider;

final class AppServiceProvider extends ServiceProvider
{
    public function boot(): void
    {
        RateLimiter::for('downloads', fn (Request $request) => Limit::perDay(100)->by($request->ip()));
        RateLimiter::for('plenty', fn (Request $request) => Limit::perMinute(1_000_000_000)->by($request->ip()));
        RateLimiter::for('none', fn () => Limit::none());
        $this->loadRoutesFrom($this->app->basePath('routes/web.php'));
    }
}
