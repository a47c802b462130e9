<?php

declare(strict_types=1);

require_once __DIR__ . '/../../../tools/testkit/php/load_classes.php';
require_once __DIR__ . '/installed_versions.php';

/** Loads the bridge and the Symfony of the include path, in Composer's order. */
load_classes(['TokenBucket\\Bridge\\Symfony\\Tests\\' => __DIR__, 'TokenBucket\\Bridge\\Symfony\\' => __DIR__ . '/../src']);
foreach (['Bundle/FrameworkBundle', 'Bundle/SecurityBundle', 'Component/RateLimiter', 'Component/Console', 'Component/Lock', 'Component/Messenger', 'Component/HttpClient'] as $package) {
    require_once "Symfony/$package/autoload.php";
}
// The example's environment "plain" is the application before the bridge was installed.
if (($_SERVER['APP_ENV'] ?? '') !== 'plain') {
    require_once __DIR__ . '/../src/replace_classes.php';
}
