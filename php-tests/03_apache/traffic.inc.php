<?php
require_once __DIR__ . '/../../tools/testkit/php/apache.php';
require_once __DIR__ . '/../03_php_fpm/traffic.inc.php';

/** A limiter that is wrong on purpose: it fetches, compares and saves a number in a file. */
const RACING = <<<'PHP'
    <?php
    $granted = (int) @file_get_contents(__DIR__ . '/racing');
    usleep(100);
    if ($granted < $_GET['capacity']) {
        file_put_contents(__DIR__ . '/racing', $granted + 1);
    }
    echo $granted < $_GET['capacity'] ? 'granted' : 'denied', ' ', getmypid();
    PHP;
