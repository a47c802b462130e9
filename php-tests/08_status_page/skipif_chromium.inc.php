<?php
require __DIR__ . '/skipif.inc.php';
require __DIR__ . '/../../testkit/php/chromium.php';

if (!Chromium::is_installed()) {
    die('skip Chromium is missing');
}
