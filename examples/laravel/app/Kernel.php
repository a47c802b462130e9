<?php

declare(strict_types=1);

namespace App;

use Illuminate\Foundation\Http\Kernel as HttpKernel;
use Illuminate\Routing\Middleware\ThrottleRequests;

final class Kernel extends HttpKernel
{
    /** The names of middleware in Laravel 8 and 9. */
    protected $routeMiddleware = ['throttle' => ThrottleRequests::class];

    /** The names of middleware since Laravel 10. */
    protected $middlewareAliases = ['throttle' => ThrottleRequests::class];
}
