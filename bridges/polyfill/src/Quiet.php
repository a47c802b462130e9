<?php

declare(strict_types=1);

namespace TokenBucket\Polyfill;

/** Calls functions that may warn without the application's error handler, which may throw. */
final class Quiet
{
    public static function call(\Closure $call): mixed
    {
        if (!function_exists('set_error_handler')) {
            return $call();
        }
        set_error_handler(static fn () => false);
        try {
            return $call();
        } finally {
            restore_error_handler();
        }
    }
}
