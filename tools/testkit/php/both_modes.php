<?php
/** Calls the extension from a file without strict_types and from one with strict_types. */
require_once __DIR__ . '/check.php';

/**
 * Returns, for weak and for strict mode, functions that construct an object, call a method, and
 * call a callable.
 *
 * @return array<string, array{Closure, Closure, Closure}>
 */
function calls_by_mode(): array
{
    return [
        'weak' => [
            fn (string $class, ...$arguments) => new $class(...$arguments),
            fn (object $object, string $method, ...$arguments) => $object->$method(...$arguments),
            fn (callable $callable, array $arguments) => $callable(...$arguments),
        ],
        'strict' => require __DIR__ . '/strict_calls.php',
    ];
}

/** Prints the output of $run in weak mode, and then the lines that differ in strict mode. */
function in_both_modes(callable $run): void
{
    [$weak, $strict] = array_map(function (array $calls) use ($run): array {
        ob_start();
        $run(...$calls);
        return explode("\n", ob_get_clean());
    }, array_values(calls_by_mode()));
    check(count($weak) === count($strict), 'the modes print different numbers of lines');
    echo implode("\n", [...$weak, '-- under strict_types --', ...array_diff_assoc($strict, $weak)]), "\n";
}
