<?php
require_once __DIR__ . '/skipif.inc.php';
exec('command -v nginx', $path, $missing);
$missing && die('skip there is no nginx');
