<?php
/**
 * PHP code that a call runs may replace and free anything. Valgrind finds more errors in these
 * tests.
 */
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/userland_bucket.php';

/** Allocates memory, so that freed memory is overwritten. */
function scribble(): array
{
    $list = [];
    for ($i = 0; $i < 50; $i++) {
        $list[] = new TokenBucketStorageMemory;
        $list[] = new TokenBucket(new TokenBucketStorageMemory, str_repeat('scribble', $i), 3, 1);
    }
    return $list;
}
