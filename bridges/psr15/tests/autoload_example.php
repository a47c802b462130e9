<?php

declare(strict_types=1);

/** Takes the place of vendor/autoload.php for examples/psr15. */
require __DIR__ . '/bootstrap.php';
require_once 'FastRoute/autoload.php';
load_classes(['App\\' => __DIR__ . '/../../../examples/psr15/src']);
