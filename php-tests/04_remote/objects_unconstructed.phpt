--TEST--
Calls on a storage whose constructor failed throw an Error
--FILE--
<?php
require __DIR__ . '/objects.inc.php';

fold_equal_lines();
foreach (['TokenBucketStorageRedis' => 'redis://h', 'TokenBucketStorageMemcached' => 'h'] as $class => $server) {
    echo "-- $class --\n";
    echo thrown(fn () => new $class(new Reaching("$server?x"))), "\n";
    $unmade = Reaching::$reached;
    var_dump($unmade);
    $bucket = new TokenBucket($unmade, 'x', 1, 1);
    foreach ([
        fn () => var_dump($unmade->prepare()),
        fn () => $unmade->bootstrap('x', 1),
        fn () => $unmade->consume('x', 1, 1, fn () => true),
        fn () => $bucket->consume(),
        fn () => $bucket->attempt(),
        fn () => $bucket->peek(),
        fn () => $bucket->wait(1),
        fn () => $bucket->refund(),
        fn () => $bucket->reset(),
        fn () => $bucket->block(1),
        fn () => TokenBucket::attemptAll([$bucket, $bucket]),
        fn () => clone $unmade,
        fn () => $unmade->prefix,
    ] as $call) {
        echo thrown($call), "\n";
    }
    Reaching::$reached = null;
}
?>
--EXPECTF--
-- TokenBucketStorageRedis --
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have no options other than cafile, certfile, keyfile, servername, db, user, password, sentinel_user, sentinel_password, hash_tags and take_ahead (in a password, "?" is "%3F")
object(TokenBucketStorageRedis)#%d (0) {
  ["server":"TokenBucketStorageRedis":private]=>
  uninitialized(string)
  ["prefix":"TokenBucketStorageRedis":private]=>
  uninitialized(string)
}
NULL
nothing thrown
Error: The TokenBucketStorageRedis object has not been constructed (10 times)
Error: Trying to clone an uncloneable object of class TokenBucketStorageRedis
Error: Cannot access private property TokenBucketStorageRedis::$prefix
-- TokenBucketStorageMemcached --
ValueError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must have no option other than weight
object(TokenBucketStorageMemcached)#%d (0) {
  ["servers":"TokenBucketStorageMemcached":private]=>
  uninitialized(string)
  ["prefix":"TokenBucketStorageMemcached":private]=>
  uninitialized(string)
}
NULL
nothing thrown
Error: The TokenBucketStorageMemcached object has not been constructed (10 times)
Error: Trying to clone an uncloneable object of class TokenBucketStorageMemcached
Error: Cannot access private property TokenBucketStorageMemcached::$prefix
