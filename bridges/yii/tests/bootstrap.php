<?php

declare(strict_types=1);

require_once __DIR__ . '/yii.php';
require_once __DIR__ . '/installed_versions.php';
require_once __DIR__ . '/../src/Bucket.php';
require_once __DIR__ . '/../src/Counter.php';
require_once __DIR__ . '/../src/RateLimiter.php';
