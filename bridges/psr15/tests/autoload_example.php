<?php

declare(strict_types=1);

/** Takes the place of vendor/autoload.php for examples/psr15. */
require __DIR__ . '/bootstrap.php';
require_once 'FastRoute/autoload.php';
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'App\\')) {
        require __DIR__ . '/../../../examples/psr15/src/' . substr($class, 4) . '.php';
    }
});
