<?php

/** Prints which classes this package has declared: a few facts in one line. */

require_once __DIR__ . '/../src/autoload.php';

$class = new ReflectionClass('TokenBucket');
$status = TokenBucket\status();
echo implode(' ', [
    $class->isInternal() ? 'internal' : 'user',
    (int) class_exists('TokenBucket\Polyfill\Home'),
    $status['version'],
    var_export($status['polyfill'] ?? false, true),
]);
