<?php
/** Defines what most tests need: assertions, processes, servers, proxies and the userland class. */
require_once __DIR__ . '/check.php';
require_once __DIR__ . '/child.php';
require_once __DIR__ . '/processes.php';
require_once __DIR__ . '/proxy.php';
require_once __DIR__ . '/servers.php';
require_once __DIR__ . '/sql_servers.php';
require_once __DIR__ . '/userland_bucket.php';
require_once __DIR__ . '/wait_for.php';
