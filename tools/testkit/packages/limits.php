<?php
/**
 * Requests a script from php-fpm and prints the output of each request.
 *
 *     php limits.php SOCKET SCRIPT REQUESTS
 */
require __DIR__ . '/fast_cgi.php';

[, $socket, $script, $requests] = $argv;
for ($i = 0; $i < $requests; $i++) {
    echo trim(FastCgi::get($socket, $script) ?? 'the worker died'), "\n";
}
