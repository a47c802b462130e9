<?php
require __DIR__ . '/skipif.inc.php';
require __DIR__ . '/../../tools/testkit/php/apache.php';
exec('command -v nginx', $path, $missing);
$missing && die('skip there is no nginx');
Apache::is_installed() || die('skip there is no Apache with this php');
