<?php
/** Loads the bridge and the PSR packages. */
require_once 'Nyholm/Psr7/autoload.php';
require_once 'Psr/Log/autoload.php';
require_once __DIR__ . '/http_server.php';
spl_autoload_register(static function (string $class): void {
    $prefix = 'TokenBucket\\Bridge\\Psr15\\';
    if (str_starts_with($class, $prefix)) {
        require __DIR__ . '/../src/' . substr($class, strlen($prefix)) . '.php';
    }
});
