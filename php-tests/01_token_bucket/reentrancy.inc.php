<?php
/**
 * Defines helpers of the tests in which a call runs PHP code that replaces or frees objects. These
 * tests find more errors under valgrind.
 */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

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
