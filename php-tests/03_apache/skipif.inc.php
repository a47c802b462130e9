<?php
require_once __DIR__ . '/../../tools/testkit/php/apache.php';

if (is_slow()) {
    die('skip Apache and its children are not run under valgrind');
}
if (!Apache::is_installed()) {
    die('skip there is no Apache for this php');
}
if (!function_exists('pcntl_fork')) {
    die('skip the clients need pcntl');
}
