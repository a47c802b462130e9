<?php
require __DIR__ . '/skip_nginx.inc.php';
require __DIR__ . '/skip_apache.inc.php';
