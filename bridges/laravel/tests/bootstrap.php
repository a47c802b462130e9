<?php

declare(strict_types=1);

require __DIR__ . '/application.php';
$folder = sys_get_temp_dir() . '/tokenbucket-laravel-' . getmypid();
install_application($folder);
register_shutdown_function(fn () => exec('rm -rf ' . escapeshellarg($folder)));
define('APPLICATION', $folder);
require "$folder/vendor/autoload.php";
require 'Mockery/autoload.php';
require __DIR__ . '/Testbench.php';
require __DIR__ . '/BridgeTestCase.php';
