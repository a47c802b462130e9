--TEST--
Constructors of remote storages accept named arguments, and convert values unless strict_types is on
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/both_modes.php';
require __DIR__ . '/construct.inc.php';

in_both_modes(construct(...));
?>
--EXPECTF--
-- TokenBucketStorageRedis --
server: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
number as a server: ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel:// 
prefix: "redis:\/\/h:6379\/0" "5" nothing thrown 
null as a prefix: "redis:\/\/h:6379\/0" "" nothing thrown TokenBucketStorageRedis::__construct(): Passing null to parameter #2 ($prefix) of type string is deprecated
timeout: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
integer as a timeout: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
true as a timeout: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
text as a timeout: TypeError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be of type float, string given 
denialCache: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
text as denialCache: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
null as denialCache: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown TokenBucketStorageRedis::__construct(): Passing null to parameter #5 ($denialCache) of type bool is deprecated
denialCacheMaxAge: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
integer as denialCacheMaxAge: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
-- named arguments in any order, some omitted --
TokenBucketStorageRedis Object
(
    [server:TokenBucketStorageRedis:private] => redis://h:6379/0
    [prefix:TokenBucketStorageRedis:private] => p
)
-- TokenBucketStorageMemcached --
server: "h:11211" "tokenbucket:" nothing thrown 
number as a server: "5:11211" "tokenbucket:" nothing thrown 
prefix: "h:11211" "5" nothing thrown 
null as a prefix: "h:11211" "" nothing thrown TokenBucketStorageMemcached::__construct(): Passing null to parameter #2 ($prefix) of type string is deprecated
timeout: "h:11211" "tokenbucket:" nothing thrown 
integer as a timeout: "h:11211" "tokenbucket:" nothing thrown 
true as a timeout: "h:11211" "tokenbucket:" nothing thrown 
text as a timeout: TypeError: TokenBucketStorageMemcached::__construct(): Argument #3 ($timeout) must be of type float, string given 
denialCache: "h:11211" "tokenbucket:" nothing thrown 
text as denialCache: "h:11211" "tokenbucket:" nothing thrown 
null as denialCache: "h:11211" "tokenbucket:" nothing thrown TokenBucketStorageMemcached::__construct(): Passing null to parameter #5 ($denialCache) of type bool is deprecated
denialCacheMaxAge: "h:11211" "tokenbucket:" nothing thrown 
integer as denialCacheMaxAge: "h:11211" "tokenbucket:" nothing thrown 
-- named arguments in any order, some omitted --
TokenBucketStorageMemcached Object
(
    [servers:TokenBucketStorageMemcached:private] => h:11211
    [prefix:TokenBucketStorageMemcached:private] => p
)

-- under strict_types --
server: TypeError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must be of type string, class@anonymous given 
number as a server: TypeError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must be of type string, int given 
prefix: TypeError: TokenBucketStorageRedis::__construct(): Argument #2 ($prefix) must be of type string, int given 
null as a prefix: TypeError: TokenBucketStorageRedis::__construct(): Argument #2 ($prefix) must be of type string, null given 
timeout: TypeError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be of type float, string given 
true as a timeout: TypeError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be of type float, %rbool|true%r given 
denialCache: TypeError: TokenBucketStorageRedis::__construct(): Argument #5 ($denialCache) must be of type bool, int given 
text as denialCache: TypeError: TokenBucketStorageRedis::__construct(): Argument #5 ($denialCache) must be of type bool, string given 
null as denialCache: TypeError: TokenBucketStorageRedis::__construct(): Argument #5 ($denialCache) must be of type bool, null given 
denialCacheMaxAge: TypeError: TokenBucketStorageRedis::__construct(): Argument #6 ($denialCacheMaxAge) must be of type float, string given 
server: TypeError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must be of type array|string, class@anonymous given 
number as a server: TypeError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must be of type array|string, int given 
prefix: TypeError: TokenBucketStorageMemcached::__construct(): Argument #2 ($prefix) must be of type string, int given 
null as a prefix: TypeError: TokenBucketStorageMemcached::__construct(): Argument #2 ($prefix) must be of type string, null given 
timeout: TypeError: TokenBucketStorageMemcached::__construct(): Argument #3 ($timeout) must be of type float, string given 
true as a timeout: TypeError: TokenBucketStorageMemcached::__construct(): Argument #3 ($timeout) must be of type float, %rbool|true%r given 
denialCache: TypeError: TokenBucketStorageMemcached::__construct(): Argument #5 ($denialCache) must be of type bool, int given 
text as denialCache: TypeError: TokenBucketStorageMemcached::__construct(): Argument #5 ($denialCache) must be of type bool, string given 
null as denialCache: TypeError: TokenBucketStorageMemcached::__construct(): Argument #5 ($denialCache) must be of type bool, null given 
denialCacheMaxAge: TypeError: TokenBucketStorageMemcached::__construct(): Argument #6 ($denialCacheMaxAge) must be of type float, string given 
