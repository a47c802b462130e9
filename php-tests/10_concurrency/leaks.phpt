--TEST--
acquire() and release() leak no memory
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\ConcurrencyLimit;

/** Returns the memory of the process in kB. */
function resident(): int
{
    preg_match('/^VmRSS:\s+(\d+) kB$/m', file_get_contents('/proc/self/status'), $found);
    return (int) $found[1];
}

foreach ([new TokenBucketStorageSharedMemory, new TokenBucketStorageMemory] as $storage) {
    $limit = new ConcurrencyLimit($storage, 'x', 4);
    $run = function (int $calls) use ($limit, $storage): void {
        for ($i = 0; $i < $calls; $i++) {
            // The permits overlap: the last permit ends after the next one is acquired.
            $next = $limit->acquire();
            $last = $next;
            (new ConcurrencyLimit($storage, "x $i", 1))->acquire()->release();
            $denied = (new ConcurrencyLimit($storage, 'x', 1))->acquire(0.0);
            thrown(fn () => $limit->acquire(-1));
            clone $limit;
        }
    };
    $run(1_000);
    $before = [memory_get_usage(), resident()];
    $run(20_000);
    // One byte a call would be a leak. PHP's own lists grow a little.
    check(memory_get_usage() - $before[0] < 20_000, get_class($storage) . ': ' . memory_get_usage() - $before[0] . ' bytes of PHP');
    $grown = resident() - $before[1];
    // Valgrind and AddressSanitizer keep freed memory for a while.
    check($grown < 500 || is_slow() || PHP_DEBUG, get_class($storage) . ": the process has grown by $grown kB");
    print_values($limit->held());
}
?>
--EXPECT--
0
0
