<?php
/** Loads the bridge and the PSR packages. */
require_once __DIR__ . '/../../../tools/testkit/php/load_classes.php';
require_once 'Nyholm/Psr7/autoload.php';
require_once 'Psr/Log/autoload.php';
require_once __DIR__ . '/http_server.php';
load_classes(['TokenBucket\\Bridge\\Psr15\\' => __DIR__ . '/../src']);
