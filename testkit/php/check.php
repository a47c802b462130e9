<?php
/** What $call threw, as "Class: message". */
function thrown(callable $call): string
{
    try {
        $call();
    } catch (Throwable $e) {
        return get_class($e) . ': ' . $e->getMessage();
    }
    return 'nothing thrown';
}

/** Says which of many conditions does not hold. */
function check(bool $holds, string $what): void
{
    if (!$holds) {
        echo "FAILED: $what\n";
    }
}

/** One line that shows a whole Decision. */
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

/** Whether everything here is slower by an order of magnitude: run-tests -m sets this for valgrind. */
function is_slow(): bool
{
    return getenv('USE_ZEND_ALLOC') === '0';
}

// What is still there when PHP ends, in a cycle, is released but not freed, and would be a leak to valgrind. A PHP
// with debugging looks for leaks itself: PDO leaks a statement of mysqlnd's that is released after its connection.
if (is_slow() || PHP_DEBUG) {
    register_shutdown_function(function () {
        foreach (array_keys($GLOBALS) as $name) {
            unset($GLOBALS[$name]);
        }
        gc_collect_cycles();
    });
}
