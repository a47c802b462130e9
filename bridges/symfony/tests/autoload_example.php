<?php

declare(strict_types=1);

/** Takes the place of vendor/autoload.php for examples/symfony. */
require __DIR__ . '/bootstrap.php';
require_once 'Symfony/Component/Yaml/autoload.php';
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'App\\')) {
        require __DIR__ . '/../../../examples/symfony/src/' . substr($class, 4) . '.php';
    }
});
