<?php
require_once __DIR__ . '/../../tools/testkit/php/fpm.php';

if (is_slow()) {
    die('skip php-fpm and its workers are not run under valgrind');
}
if (Fpm::binary() === null) {
    die('skip there is no php-fpm for this php');
}
if (!function_exists('pcntl_fork')) {
    die('skip the clients need pcntl');
}
