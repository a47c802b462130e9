<?php

declare(strict_types=1);

use Symfony\Component\RateLimiter;
use TokenBucket\Bridge\Symfony;

// Controllers and Symfony itself name these final classes in their types. So this autoloader
// gives their names to the bridge's classes, before Composer finds Symfony's files. The bridge's
// classes behave like Symfony's for limiters whose storage is not a BucketStorage.
spl_autoload_register(static function (string $class): void {
    $replacement = match ($class) {
        RateLimiter\RateLimiterFactory::class => Symfony\RateLimiterFactory::class,
        RateLimiter\CompoundLimiter::class => Symfony\CompoundLimiter::class,
        RateLimiter\Reservation::class => Symfony\Reservation::class,
        default => null,
    };
    if ($replacement !== null) {
        class_alias($replacement, $class);
    }
}, prepend: true);
