<?php
/** Defines assertions that print failures, so that failures appear in the output of a test. */

require_once __DIR__ . '/places.php';

/** Returns the exception that $call threw as "Class: message", or "nothing thrown". */
function thrown(callable $call): string
{
    try {
        $call();
    } catch (Throwable $e) {
        return get_class($e) . ': ' . $e->getMessage();
    }
    return 'nothing thrown';
}

/** Prints $what if the condition does not hold. */
function check(bool $holds, string $what): void
{
    if (!$holds) {
        echo "FAILED: $what\n";
    }
}

/**
 * Ends a test whose fault did not happen, or whose machine was too slow to set it up. The test is
 * tried again twice. It never counts as passed.
 */
function inconclusive(string $reason): never
{
    if (class_exists(PHPUnit\Framework\Assert::class, false)) {
        PHPUnit\Framework\Assert::markTestIncomplete($reason);
    }
    exit("inconclusive: $reason\n");
}

/** Ends the test, which is skipped, if a program that it needs is not installed. */
function skip_without(string $program): void
{
    if (exec('command -v ' . escapeshellarg($program)) !== '') {
        return;
    }
    if (class_exists(PHPUnit\Framework\Assert::class, false)) {
        PHPUnit\Framework\Assert::markTestSkipped("$program is not installed");
    }
    echo "skip: $program is not installed\n";
    exit(77);
}

/** Prints values in one line, as PHP code. */
function print_values(mixed ...$values): void
{
    $code = function (mixed $value) use (&$code): string {
        if (!is_array($value)) {
            return $value === null ? 'null' : var_export($value, true);
        }
        $item = fn ($key) => (array_is_list($value) ? '' : $code($key) . ' => ') . $code($value[$key]);
        return '[' . implode(', ', array_map($item, array_keys($value))) . ']';
    };
    echo implode(' ', array_map($code, $values)), "\n";
}

/** From now on, prints consecutive equal lines once, with their number. */
function fold_equal_lines(): void
{
    ob_start(fn (string $text) => preg_replace_callback(
        '/^(.+\n)\1+/m',
        fn (array $lines) => rtrim($lines[1]) . ' (' . intdiv(strlen($lines[0]), strlen($lines[1])) . " times)\n",
        $text
    ));
}

/**
 * Prints what $test prints for the first case. Checks that it prints the same for each other case,
 * apart from the name of the case.
 */
function alike(array $names, callable $test): void
{
    foreach ($names as $name) {
        $nameless = fn (string $text) => str_replace($name, '…', $text);
        // PHP also prints through this function if the test ends here.
        ob_start($nameless);
        $test($name);
        $printed[$name] = $nameless(ob_get_clean());
        check($printed[$name] === $printed[$names[0]], "$name: $printed[$name]");
    }
    echo $printed[$names[0]];
}

/** Prints all fields of a Decision in one line. */
function show(TokenBucket\Decision $decision): void
{
    printf(
        "%s %s remaining=%s capacity=%s retryAfter=%s resetAfter=%s\n",
        $decision->allowed ? 'allowed' : 'denied',
        $decision->reason,
        var_export($decision->remaining, true),
        var_export($decision->capacity, true),
        var_export($decision->retryAfter, true),
        var_export($decision->resetAfter, true)
    );
}

/**
 * Reports whether the test runs under valgrind, where it takes about ten times as long.
 *
 * run-tests -m sets the variable USE_ZEND_ALLOC to 0.
 */
function is_slow(): bool
{
    return getenv('USE_ZEND_ALLOC') === '0';
}

if (is_slow()) {
    take_places();
}

// PHP does not free cycles that still exist when it ends. Valgrind and debug builds of PHP would
// report such cycles as leaks. PDO also leaks a statement of mysqlnd that is released after its
// connection.
if (is_slow() || PHP_DEBUG) {
    register_shutdown_function(function () {
        foreach (array_keys($GLOBALS) as $name) {
            unset($GLOBALS[$name]);
        }
        gc_collect_cycles();
    });
}
