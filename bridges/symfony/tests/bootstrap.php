<?php

declare(strict_types=1);

require_once __DIR__ . '/installed_versions.php';

/** Loads the bridge and the Symfony of the include path, in Composer's order. */
spl_autoload_register(static function (string $class): void {
    foreach (['TokenBucket\\Bridge\\Symfony\\Tests\\' => __DIR__ . '/', 'TokenBucket\\Bridge\\Symfony\\' => __DIR__ . '/../src/'] as $prefix => $folder) {
        if (str_starts_with($class, $prefix)) {
            $path = $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (is_file($path)) {
                require $path;
            }
            return;
        }
    }
});
foreach (['Bundle/FrameworkBundle', 'Bundle/SecurityBundle', 'Component/RateLimiter', 'Component/Console', 'Component/Lock', 'Component/Messenger', 'Component/HttpClient'] as $package) {
    require_once "Symfony/$package/autoload.php";
}
// The example's environment "plain" is the application before the bridge was installed.
if (($_SERVER['APP_ENV'] ?? '') !== 'plain') {
    require_once __DIR__ . '/../src/replace_classes.php';
}
