<?php

declare(strict_types=1);

/** Loads the bridge, Guzzle and Symfony. */
spl_autoload_register(static function (string $class): void {
    $prefix = 'TokenBucket\\Bridge\\HttpClient\\';
    if (str_starts_with($class, "{$prefix}Tests\\")) {
        require __DIR__ . '/' . strtr(substr($class, strlen("{$prefix}Tests\\")), '\\', '/') . '.php';
    } elseif (str_starts_with($class, $prefix)) {
        require __DIR__ . '/../src/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
    }
});
foreach (['GuzzleHttp', 'Symfony/Component/RateLimiter', 'Symfony/Component/HttpClient', 'Symfony/Bundle/FrameworkBundle', 'Symfony/Component/Yaml'] as $package) {
    require_once "$package/autoload.php";
}
// FrameworkBundle asks Composer for packages.
require_once __DIR__ . '/../../symfony/tests/installed_versions.php';
// The servers of the tests need no extensions.
putenv('TEST_PHP_EXTRA_ARGS=-n');
