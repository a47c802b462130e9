<?php

declare(strict_types=1);

// Declares the extension's classes and functions, unless the extension is loaded. An older
// extension may lack some of them. Even these are not declared then, so that the two
// implementations never mix.
if (extension_loaded('tokenbucket')) {
    return;
}

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'TokenBucket\\Polyfill\\')) {
        $file = __DIR__ . '/' . substr($class, strlen('TokenBucket\\Polyfill\\')) . '.php';
    } elseif (str_starts_with($class, 'TokenBucket')) {
        $file = __DIR__ . '/../classes/' . strtr($class, '\\', '/') . '.php';
    }
    if (isset($file) && is_file($file)) {
        require $file;
    }
});

require __DIR__ . '/functions.php';
