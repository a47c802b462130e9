--TEST--
TokenBucket::compare_microtimes() has a relative tolerance and compares with zero
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$pairs = [
    [1, 2], [2, 1], [1, 1], [1.0, 1.00009], [1.0, 1.0002], [1.0002, 1.0],
    // For values of about a day, the tolerance is more than nine seconds.
    [100000, 99991], [99991, 100000], [100000, 99989], [99989, 100000],
    [0, 5], [-5, 5], [5, -5], [-1, -1.00001], [-1, -2],
    [1700000000.1234, 1700000000.1235], [1700200000.0, 1700000000.0],
];
foreach ($pairs as [$a, $b]) {
    $native = TokenBucket::compare_microtimes($a, $b);
    printf("%s, %s: %d\n", var_export($a, true), var_export($b, true), $native);
    check($native === UserlandTokenBucket::compare_microtimes($a, $b), 'as in userland');
}

echo "-- against zero --\n";
foreach ([0, 0.0, -0.0] as $zero) {
    foreach ([1, 0.0002, 0.0001, 0.00005, 0, -0.00005, -0.0002, -1, 1e300] as $a) {
        echo TokenBucket::compare_microtimes($a, $zero), ' ';
    }
    echo "\n";
}

echo "-- a subclass's tolerance --\n";
class Tolerant extends TokenBucket
{
    const MICROTIME_DELTA = 0.5;
}
var_dump(Tolerant::compare_microtimes(1.0, 1.4), TokenBucket::compare_microtimes(1.0, 1.4));
?>
--EXPECT--
1, 2: -1
2, 1: 1
1, 1: 0
1.0, 1.00009: 0
1.0, 1.0002: -1
1.0002, 1.0: 1
100000, 99991: 0
99991, 100000: 0
100000, 99989: 1
99989, 100000: -1
0, 5: -1
-5, 5: -1
5, -5: 1
-1, -1.00001: 0
-1, -2: 1
1700000000.1234, 1700000000.1235: 0
1700200000.0, 1700000000.0: 1
-- against zero --
1 1 1 0 0 0 -1 -1 1 
1 1 1 0 0 0 -1 -1 1 
1 1 1 0 0 0 -1 -1 1 
-- a subclass's tolerance --
int(0)
int(-1)
