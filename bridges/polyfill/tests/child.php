<?php

/** Runs a script without the extension, and returns its output. */
function with_polyfill(string $script, string ...$arguments): string
{
    return run_php([PHP_BINARY, '-n', '-d', 'tokenbucket.polyfill_local_buckets=1', '-d', 'auto_prepend_file=' . __DIR__ . '/prepend.php'], $script, ...$arguments);
}

/** Runs a script with the extension, in the PHP for which it was built. */
function with_extension(string $script, string ...$arguments): string
{
    return run_php([getenv('PHP_OF_EXTENSION'), '-n', '-d', 'tokenbucket.failure_report=none', '-d', 'extension=' . getenv('TOKENBUCKET')], $script, ...$arguments);
}

/** Reports whether tests can compare this package with the extension. */
function has_extension(): bool
{
    return is_file((string) getenv('TOKENBUCKET')) && is_executable((string) getenv('PHP_OF_EXTENSION'));
}

function run_php(array $php, string $script, string ...$arguments): string
{
    exec(implode(' ', array_map(escapeshellarg(...), [...$php, $script, ...$arguments])) . ' 2>&1', $lines, $code);
    return implode("\n", $lines) . ($code === 0 ? '' : "\nexit code $code");
}
