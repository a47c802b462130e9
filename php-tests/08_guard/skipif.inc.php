<?php
require __DIR__ . '/../03_php_fpm/skipif.inc.php';
