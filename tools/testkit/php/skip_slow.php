<?php
/** Skips a test that takes too long for a quick run or for valgrind. */
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0') {
    die('skip slow');
}
