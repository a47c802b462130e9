<?php

declare(strict_types=1);

require_once __DIR__ . '/../../../tools/testkit/php/load_classes.php';

/** Loads the bridge, Guzzle and Symfony. */
load_classes(['TokenBucket\\Bridge\\HttpClient\\Tests\\' => __DIR__, 'TokenBucket\\Bridge\\HttpClient\\' => __DIR__ . '/../src']);
foreach (['GuzzleHttp', 'Symfony/Component/RateLimiter', 'Symfony/Component/HttpClient', 'Symfony/Bundle/FrameworkBundle', 'Symfony/Component/Yaml'] as $package) {
    require_once "$package/autoload.php";
}
// FrameworkBundle asks Composer for packages.
require_once __DIR__ . '/../../symfony/tests/installed_versions.php';
// The servers of the tests need no extensions.
putenv('TEST_PHP_EXTRA_ARGS=-n');
