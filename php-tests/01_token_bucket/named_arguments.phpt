--TEST--
Parameters can be passed by their names
--FILE--
<?php
$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket(tokens_per_second: 1, bucket_capacity: 10, identifier: 'x', storage: $storage);
var_dump($bucket->consume(token_count: 2), $bucket->attempt(tokens: 2)->remaining, $bucket->peek(tokens: 7)->allowed);
var_dump($bucket->wait(tokens: 1, timeout: 0.5)->remaining);
$bucket->refund(tokens: 3);
var_dump(TokenBucket::attemptAll(tokens: 4, buckets: [$bucket])->remaining);
var_dump(TokenBucket::compare_microtimes(m2: 1, m1: 2));
var_dump($bucket->peek()->headers(legacy: false, policy: 'p')['RateLimit']);
$storage->advance(seconds: 1.0);
$storage->bootstrap(microtime: microtime(true) - 2.5, identifier: 'y');
var_dump($storage->consume(bootstrap_closure: fn() => true, full_microtime: 10, microtime: 2, identifier: 'y'));
var_dump((new TokenBucket(new TokenBucketStorageSharedMemory(namespace: 'n'), 'x', 1, 1))->consume());
?>
--EXPECT--
bool(true)
float(6)
bool(false)
float(5)
float(4)
int(1)
string(11) ""p";r=4;t=4"
bool(true)
bool(true)
