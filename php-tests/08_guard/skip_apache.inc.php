<?php
require_once __DIR__ . '/skipif.inc.php';
require __DIR__ . '/../../tools/testkit/php/apache.php';
Apache::is_installed() || die('skip there is no Apache with this php');
