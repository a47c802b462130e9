<?php
require_once __DIR__ . '/../../tools/testkit/php/child.php';

/**
 * Compiles an extension that interrupts PHP in the same way as a profiler. Returns the path of its
 * file, which exists until the test ends. Returns null without a C compiler or without the headers
 * of this PHP.
 */
function profiler(): ?string
{
    $config = getenv('PHP_CONFIG') ?: 'php-config' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION;
    $includes = shell_exec(escapeshellarg($config) . ' --includes 2>/dev/null');
    $version = (int) shell_exec(escapeshellarg($config) . ' --vernum 2>/dev/null');
    if ($version !== PHP_VERSION_ID) {
        return null;
    }
    $path = temporary_folder() . '/profiler.so';
    $source = escapeshellarg(__DIR__ . '/../../tools/testkit/profiler/profiler.c');
    exec('cc -shared -fPIC ' . trim($includes) . " -o $path $source 2>&1", $lines, $code);
    return $code === 0 ? $path : null;
}
