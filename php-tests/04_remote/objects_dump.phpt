--TEST--
Dumps of remote storages show the server and the prefix, and no password
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$redis = fn (string $dsn = 'redis://user:secret@h:1/2', mixed ...$more) => new TokenBucketStorageRedis($dsn, ...$more);
$memcached = fn (string|array $servers = ['a', 'b:2?weight=3', 'unix:///run/m.sock']) => new TokenBucketStorageMemcached($servers, 'p');
var_dump($redis(), $redis('rediss://:secret@[::1]?cafile=/x', 'p'), $redis('unix:///run/r.sock?db=3&password=secret', timeout: 1.0, denialCache: false));
var_dump($memcached());
print_r(new TokenBucket($memcached('h'), 'x', 1, 1));
?>
--EXPECTF--
object(TokenBucketStorageRedis)#%d (2) {
  ["server":"TokenBucketStorageRedis":private]=>
  string(13) "redis://h:1/2"
  ["prefix":"TokenBucketStorageRedis":private]=>
  string(12) "tokenbucket:"
}
object(TokenBucketStorageRedis)#%d (2) {
  ["server":"TokenBucketStorageRedis":private]=>
  string(21) "rediss://[::1]:6379/0"
  ["prefix":"TokenBucketStorageRedis":private]=>
  string(1) "p"
}
object(TokenBucketStorageRedis)#%d (2) {
  ["server":"TokenBucketStorageRedis":private]=>
  string(23) "unix:///run/r.sock?db=3"
  ["prefix":"TokenBucketStorageRedis":private]=>
  string(12) "tokenbucket:"
}
object(TokenBucketStorageMemcached)#%d (2) {
  ["servers":"TokenBucketStorageMemcached":private]=>
  string(30) "a:11211,b:2,unix:///run/m.sock"
  ["prefix":"TokenBucketStorageMemcached":private]=>
  string(1) "p"
}
TokenBucket Object
(
    [_storage:TokenBucket:private] => TokenBucketStorageMemcached Object
        (
            [servers:TokenBucketStorageMemcached:private] => h:11211
            [prefix:TokenBucketStorageMemcached:private] => p
        )

    [_identifier:protected] => x
    [_bucket_capacity:protected] => 1
    [_tokens_per_second:protected] => 1
)
