<?php

declare(strict_types=1);

/** Takes the place of vendor/autoload.php for examples/symfony. */
require __DIR__ . '/bootstrap.php';
require_once 'Symfony/Component/Yaml/autoload.php';
load_classes(['App\\' => __DIR__ . '/../../../examples/symfony/src']);
