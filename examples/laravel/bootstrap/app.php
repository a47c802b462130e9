<?php

declare(strict_types=1);

use App\Kernel;
use Illuminate\Contracts\Console\Kernel as ConsoleKernel;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Http\Kernel as HttpKernel;
use Illuminate\Foundation\Application;
use Illuminate\Foundation\Console\Kernel as ArtisanKernel;
use Illuminate\Foundation\Exceptions\Handler;

// Laravel 8 to 13 accept this form.
$app = new Application(dirname(__DIR__));
$app->singleton(HttpKernel::class, Kernel::class);
$app->singleton(ConsoleKernel::class, ArtisanKernel::class);
$app->singleton(ExceptionHandler::class, Handler::class);
// Laravel 11 and later would merge their own files, which Debian keeps elsewhere.
if (method_exists($app, 'dontMergeFrameworkConfiguration')) {
    $app->dontMergeFrameworkConfiguration();
}
return $app;
