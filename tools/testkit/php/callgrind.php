<?php
require_once __DIR__ . '/child.php';

/** Reports whether callgrind can run here. Valgrind cannot run itself. */
function has_callgrind(): bool
{
    return getenv('USE_ZEND_ALLOC') !== '0' && exec('valgrind --version') !== '';
}

/**
 * Counts instructions of statements in a child php under callgrind. Other load on the machine does
 * not change these counts.
 *
 * A count is the difference between a long and a short loop, divided by the difference of their
 * turns. So it includes PHP's work for a turn.
 *
 * @param string $setup code that runs first
 * @param array<string, string> $statements statements by name
 * @param array<string, string> $ini
 * @return array<string, float> the instructions of one execution, by name
 */
function instructions(string $setup, array $statements, array $ini = [], int $short = 5, int $long = 25): array
{
    $counts = temporary_folder() . '/counts';
    $code = $setup;
    foreach ($statements as $statement) {
        // The first execution does more, for example initialise caches.
        $code .= "\n$statement;";
        foreach ([$short, $long] as $turns) {
            // Each call of php_uname() makes callgrind write the count since the last call.
            $code .= "\nphp_uname('m'); for (\$turn = 0; \$turn < $turns; \$turn++) { $statement; } php_uname('m');";
        }
    }
    // A script may start PHP, and then is replaced by PHP.
    $callgrind = "setarch -R valgrind --quiet --vgdb=no --trace-children=yes --tool=callgrind --dump-before=php_get_uname --callgrind-out-file=$counts";
    $output = shell_exec("$callgrind " . php_command($ini) . ' -r ' . escapeshellarg($code) . ' 2>&1');
    $number = 0;
    $next = function () use (&$number, $counts, $output): int {
        // Every second file has the count of the code between two loops.
        $number += 2;
        preg_match('/^totals: (\d+)$/m', (string) @file_get_contents("$counts.$number"), $found) || exit("callgrind has counted nothing: $output\n");
        return (int) $found[1];
    };
    return array_map(function () use ($next, $short, $long): float {
        $of_short = $next();
        return ($next() - $of_short) / ($long - $short);
    }, $statements);
}
