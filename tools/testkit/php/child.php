<?php
/** Runs child php processes with the settings of this test, and creates temporary folders. */

/**
 * Returns the command of a php with the settings of this test. $ini adds and replaces settings.
 *
 * run-tests exports the arguments that it started this process with. Without run-tests, the php
 * loads tokenbucket from the current extension_dir.
 */
function php_command(array $ini = []): string
{
    $php = getenv('TEST_PHP_EXECUTABLE') ?: PHP_BINARY;
    $arguments = getenv('TEST_PHP_EXTRA_ARGS');
    if ($arguments === false) {
        $arguments = '-n -d extension_dir=' . escapeshellarg(ini_get('extension_dir')) . ' -d extension=tokenbucket';
    }
    $arguments .= ' -d display_errors=1 -d display_startup_errors=1 -d log_errors=0 -d html_errors=0';
    foreach ($ini as $name => $value) {
        $arguments .= ' -d ' . escapeshellarg($value === '' ? "$name=" : "$name=\"$value\"");
    }
    return escapeshellarg($php) . ' ' . $arguments;
}

/** Runs $code, without an opening tag, in a child php. Returns the text on stdout and stderr. */
function php_run(string $code, array $ini = [], string $arguments = ''): string
{
    return (string) shell_exec(php_command($ini) . ' -r ' . escapeshellarg($code) . ($arguments === '' ? '' : " -- $arguments") . ' 2>&1');
}

/** Runs a file in a child php, and returns the printed text. */
function php_run_file(string $file, array $ini = [], string $arguments = ''): string
{
    return (string) shell_exec(php_command($ini) . ' -f ' . escapeshellarg($file) . ($arguments === '' ? '' : " -- $arguments") . ' 2>&1');
}

/** Runs a file in a php with only its built-in extensions, and returns the printed text. */
function php_run_bare(string $file, string $arguments = ''): string
{
    $php = getenv('TEST_PHP_EXECUTABLE') ?: PHP_BINARY;
    return (string) shell_exec(escapeshellarg($php) . ' -n -d display_errors=1 -f ' . escapeshellarg($file) . ($arguments === '' ? '' : " -- $arguments") . ' 2>&1');
}

/**
 * Creates a folder for named segments and other files of this test, and removes it when the test
 * ends.
 */
function temporary_folder(): string
{
    $base = is_dir('/dev/shm') && is_writable('/dev/shm') ? '/dev/shm' : sys_get_temp_dir();
    $folder = $base . '/tokenbucket-test-' . getmypid() . '-' . bin2hex(random_bytes(4));
    mkdir($folder, 0700);
    $owner = getmypid();
    register_shutdown_function(static function () use ($folder, $owner) {
        // Forked children inherit this function.
        if (getmypid() !== $owner) {
            return;
        }
        foreach (array_diff(scandir($folder), ['.', '..']) as $name) {
            unlink("$folder/$name");
        }
        rmdir($folder);
    });
    return $folder;
}
