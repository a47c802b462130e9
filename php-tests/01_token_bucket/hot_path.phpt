--TEST--
Methods return correct results in loops of every kind of PHP call
--FILE--
<?php
$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 100000, 1);
$granted = 0;
for ($i = 0; $i < 20000; $i++) {
    $granted += (int) $bucket->consume();
}
for ($i = 0; $i < 20000; $i++) {
    if ($bucket->consume(1)) {
        $granted++;
    }
}
$method = 'consume';
$callable = [$bucket, 'consume'];
$closure = $bucket->consume(...);
$reflection = new ReflectionMethod($bucket, 'consume');
for ($i = 0; $i < 1000; $i++) {
    $granted += $bucket->$method() + $callable() + $closure() + $reflection->invoke($bucket)
        + call_user_func($callable, 1) + call_user_func_array($callable, ['token_count' => 1]);
}
$granted += count(array_filter(array_map($closure, array_fill(0, 1000, 1))));
var_dump($granted, $bucket->peek()->remaining);
$wait = $bucket->attempt(...);
var_dump($wait(tokens: 3)->remaining);
$all = TokenBucket::attemptAll(...);
var_dump($all([$bucket])->remaining);
?>
--EXPECT--
int(47000)
float(53000)
float(52997)
float(52996)
