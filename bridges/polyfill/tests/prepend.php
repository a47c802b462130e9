<?php
/**
 * Runs before each .phpt of the extension. Gives the test a folder of its own. Changes messages
 * about userland functions into those about internal functions.
 */

require __DIR__ . '/../src/autoload.php';
require __DIR__ . '/folders.php';

// The workers of a php-fpm share a folder. The runner removes it.
TokenBucket\Polyfill\Settings::$folder = PHP_SAPI === 'fpm-fcgi'
    ? dirname(__DIR__, 3) . '/folders/' . basename(dirname($_SERVER['SCRIPT_FILENAME']))
    : new_folder();

// A buffer of one byte keeps nothing that a forked child could print again.
ob_start(static function (string $text): string {
    $text = preg_replace('/, called in \S+(?: : eval\(\)\'d code)? on line \d+/', '', $text);
    return preg_replace_callback(
        '/Too few arguments to function ([^ ]+), (\d+) passed(?: in \S+ on line \d+)? and (exactly|at least) (\d+) expected/',
        static fn (array $m) => "$m[1] expects $m[3] $m[4] argument" . ($m[4] === '1' ? '' : 's') . ", $m[2] given",
        $text
    );
}, 1);
