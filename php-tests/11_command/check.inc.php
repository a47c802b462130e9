<?php
/** Runs `tokenbucket check`, and prints what it found. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** Returns the lines of the command, and then its exit status. $environment sets variables. */
function run_check(string $arguments, string $environment = ''): string
{
    $file = escapeshellarg(__DIR__ . '/../../bin/tokenbucket');
    return (string) shell_exec("$environment " . php_command() . " -f $file -- check $arguments 2>&1; echo \"status $?\"");
}

/**
 * Prints a line with the probes that are not ok, or only with those of $only. Returns the findings
 * by their probes.
 */
function faults(string $what, string $dsn, string $arguments = '', string $patience = '--deadline=60 --timeout=30', array $only = []): array
{
    $printed = run_check("--json $patience $arguments -- " . escapeshellarg($dsn));
    $lines = explode("\n", trim($printed));
    $findings = array_column(json_decode($lines[0], true)['probes'] ?? [], null, 'probe');
    $faults = array_filter($findings, fn (array $finding) => $finding['verdict'] !== 'ok');
    $faults = $only === [] ? $faults : array_intersect_key($faults, array_flip($only));
    $faults = array_map(fn (array $finding) => "$finding[verdict] $finding[probe]", $faults);
    echo "$what: ", $findings === [] ? $printed : ($faults === [] ? 'all ok' : implode(', ', $faults)) . ", $lines[1]\n";
    foreach ($findings as $finding) {
        check(($finding['verdict'] === 'ok') === ($finding['advice'] === ''), "the advice of $finding[probe]");
    }
    return $findings;
}
