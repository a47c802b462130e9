--TEST--
Storages of servers and databases throw with the reason, unless a setting permits local buckets
--EXTENSIONS--
pdo
--FILE--
<?php
require __DIR__ . '/../../../tools/testkit/php/check.php';

use TokenBucket\OnFailure;
use TokenBucket\Polyfill\Settings;

/** A connection without a database, because PDO's drivers may be missing. */
class Unconnected extends PDO
{
    public function __construct() {}
}
class Client
{
    public function getHost() { return 'redis'; }
    public function getPort() { return 6379; }
    public function getDbNum() { return 0; }
}
$new = [
    fn () => new TokenBucketStorageRedis('redis://user:secret@host'),
    fn () => TokenBucketStorageRedis::fromClient(new Client),
    fn () => new TokenBucketStorageMemcached(['a:11211', 'b']),
    fn () => new TokenBucketStoragePDO(new Unconnected, 'buckets'),
    fn () => new TokenBucketStoragePDOMySQL(new Unconnected, 'buckets'),
];
fold_equal_lines();
foreach ($new as $make) {
    $message = thrown($make);
    echo preg_replace('/\w+ needs/', '… needs', $message), "\n";
    check(!str_contains($message, 'secret'), 'the message contains the password');
}
echo "-- permitted: buckets of this host, which say that they are a fallback --\n";
Settings::$localBuckets = true;
foreach ($new as $number => $make) {
    $bucket = new TokenBucket($make(), "x", 10, 1e-5);
    print_values($bucket->attempt(3)->fallback, $bucket->peek()->remaining, (new TokenBucket($make(), 'x', 10, 1e-5))->peek()->remaining);
}
print_values((new TokenBucket(new TokenBucketStorageRedis('redis://other'), 'x', 10, 1e-5))->peek()->remaining);
print_values((new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 10, 1e-5))->peek()->remaining);
$deny = new TokenBucketStorageRedis('redis://host', onFailure: OnFailure::Deny);
print_values((new TokenBucket($deny, 'deny', 10, 1))->consume());
// A host alone needs no slices.
print_values((new TokenBucket(new TokenBucketStorageRedis('redis://host', takeAhead: 0.5), 'ahead', 10, 1))->consume());
echo "-- invalid numbers --\n";
foreach ([0.0, -1.0, NAN, 3601.0] as $number) {
    echo thrown(fn () => new TokenBucketStorageRedis('redis://host', timeout: $number)), "\n";
    echo thrown(fn () => new TokenBucketStorageMemcached('host', takeAhead: $number)), "\n";
    echo thrown(fn () => new TokenBucketStoragePDO(new Unconnected, 'x', denialCacheMaxAge: $number)), "\n";
}
echo thrown(fn () => new TokenBucketStorageMemcached('host', takeAhead: 0.5)), "\n";
echo "-- lockouts --\n";
foreach ($new as $make) {
    $lockout = fn () => new TokenBucket\Lockout($make(), 'x', 2);
    echo thrown(fn () => print_values($lockout()->attempt()->fallback, $lockout()->attempt()->allowed, $lockout()->attempt()->reason)), "\n";
}
?>
--EXPECT--
TokenBucket\StorageException: … needs the extension tokenbucket. tokenbucket/polyfill has only buckets of one host, so several hosts would admit the number of hosts times the limit. Install the extension, or use TokenBucketStorageSharedMemory on one host, or set tokenbucket.polyfill_local_buckets=1 in php.ini to use local buckets (5 times)
-- permitted: buckets of this host, which say that they are a fallback --
true 7.0 7.0 (5 times)
10.0 (2 times)
true (2 times)
-- invalid numbers --
ValueError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be greater than 0
nothing thrown (2 times)
ValueError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be greater than 0
ValueError: TokenBucketStorageMemcached::__construct(): Argument #7 ($takeAhead) must be greater than or equal to 0
ValueError: TokenBucketStoragePDO::__construct(): Argument #5 ($denialCacheMaxAge) must be greater than or equal to 0
ValueError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be finite
ValueError: TokenBucketStorageMemcached::__construct(): Argument #7 ($takeAhead) must be finite
ValueError: TokenBucketStoragePDO::__construct(): Argument #5 ($denialCacheMaxAge) must be finite
ValueError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be less than or equal to 3600
ValueError: TokenBucketStorageMemcached::__construct(): Argument #7 ($takeAhead) must be less than or equal to 1
ValueError: TokenBucketStoragePDO::__construct(): Argument #5 ($denialCacheMaxAge) must be less than or equal to 3600
LogicException: $takeAhead must be 0, because only TokenBucketStorageRedis can take tokens ahead
-- lockouts --
true true 'locked_out'
nothing thrown
true true 'locked_out'
nothing thrown
true true 'locked_out'
nothing thrown
true true 'locked_out'
nothing thrown
true true 'locked_out'
nothing thrown
