<?php
require __DIR__ . '/../03_php_fpm/skipif.inc.php';

if (exec('command -v nginx') === '') {
    die('skip nginx is missing');
}
