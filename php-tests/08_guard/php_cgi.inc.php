<?php
require_once __DIR__ . '/../../tools/testkit/php/php_cgi.php';
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** Skips a test if there is no php-cgi for this PHP. */
function skip_without_php_cgi(): void
{
    is_slow() && die('skip php-cgi is not run under valgrind');
    (PHP_DEBUG || PHP_ZTS) && die('skip php-cgi is another build of PHP');
    is_executable(PHP_CGI_PATH) || die('skip there is no php-cgi for this php');
}

/** Returns the command of php-cgi with these settings. */
function php_cgi(array $ini): string
{
    $settings = array_map(fn (string $name) => ' -d ' . escapeshellarg("$name=\"$ini[$name]\""), array_keys($ini));
    return 'exec ' . PHP_CGI_PATH . ' ' . (getenv('TEST_PHP_EXTRA_ARGS') ?: '-n') . implode($settings);
}

/** Runs php-cgi as a web server does for each request. Returns its output and its exit code. */
function cgi(string $script, array $ini, array $variables): array
{
    $variables += [
        'GATEWAY_INTERFACE' => 'CGI/1.1', 'REQUEST_METHOD' => 'GET', 'SCRIPT_FILENAME' => $script, 'SCRIPT_NAME' => '/script.php',
        'REQUEST_URI' => '/script.php', 'REDIRECT_STATUS' => '200', 'PATH' => getenv('PATH'),
    ];
    $process = proc_open(php_cgi($ini), [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes, null, $variables);
    $output = stream_get_contents($pipes[1]);
    return [$output, proc_close($process)];
}
