<?php
require __DIR__ . '/skipif.inc.php';
require __DIR__ . '/../../tools/testkit/php/chromium.php';

if (getenv('SKIP_CHROMIUM_TESTS') === '1') {
    die('skip by the environment variable SKIP_CHROMIUM_TESTS');
}
if (!Chromium::is_installed()) {
    die('skip Chromium is missing');
}
