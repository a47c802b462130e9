<?php
require_once __DIR__ . '/../../tools/testkit/php/apache.php';
require_once __DIR__ . '/../03_php_fpm/traffic.inc.php';
