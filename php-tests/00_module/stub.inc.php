<?php
/**
 * Compares the stub file with the extension. Prints the declared names and the first difference.
 * Exits with 0 if the stub file matches the extension, otherwise with 1.
 *
 * php_command() loads the extension that scripts/lint chooses with TEST_PHP_EXTRA_ARGS.
 */
require_once __DIR__ . '/../../tools/testkit/php/child.php';

$extension = php_run_file(__DIR__ . '/reflection.inc.php', [], 'extension tokenbucket');
$stub = php_run_bare(__DIR__ . '/reflection.inc.php', 'file ' . escapeshellarg(dirname(__DIR__, 2) . '/stubs/tokenbucket.stub.php'));
$declared = json_decode($extension, true);
if ($declared === null || json_decode($stub, true) === null) {
    echo "No JSON: $extension$stub";
    exit(1);
}
echo implode("\n", array_keys($declared['classes'])), "\n";
echo implode("\n", array_keys($declared['functions'])), "\n";

$extension = explode("\n", $extension);
$stub = explode("\n", $stub);
if ($extension === $stub) {
    echo "Equal.\n";
    exit(0);
}
foreach ($extension as $number => $line) {
    if ($line !== ($stub[$number] ?? null)) {
        echo "First difference, line $number:\n";
        foreach (['extension' => $extension, 'stub' => $stub] as $side => $lines) {
            echo "$side:\n", implode("\n", array_slice($lines, max(0, $number - 12), 20)), "\n";
        }
        break;
    }
}
exit(1);
