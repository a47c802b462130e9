<?php

declare(strict_types=1);

// Declares the classes and functions of the extension if it is not loaded. This check covers all of
// them, so that a class of this package is never mixed with those of an extension that lacks it.
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
