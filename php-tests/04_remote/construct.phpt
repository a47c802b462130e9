--TEST--
Constructors of remote storages convert as in weak mode and accept named arguments
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/construct.inc.php';

construct(fn (string $class, ...$arguments) => new $class(...$arguments));
?>
--EXPECT--
-- TokenBucketStorageRedis --
server: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
number as a server: ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel:// 
prefix: "redis:\/\/h:6379\/0" "5" nothing thrown 
null as a prefix: "redis:\/\/h:6379\/0" "" nothing thrown TokenBucketStorageRedis::__construct(): Passing null to parameter #2 ($prefix) of type string is deprecated
timeout: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
integer as a timeout: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
true as a timeout: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
text as a timeout: TypeError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be of type float, string given 
hints: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
text as hints: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
null as hints: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown TokenBucketStorageRedis::__construct(): Passing null to parameter #5 ($hints) of type bool is deprecated
hintMaxAge: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
integer as hintMaxAge: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
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
hints: "h:11211" "tokenbucket:" nothing thrown 
text as hints: "h:11211" "tokenbucket:" nothing thrown 
null as hints: "h:11211" "tokenbucket:" nothing thrown TokenBucketStorageMemcached::__construct(): Passing null to parameter #5 ($hints) of type bool is deprecated
hintMaxAge: "h:11211" "tokenbucket:" nothing thrown 
integer as hintMaxAge: "h:11211" "tokenbucket:" nothing thrown 
-- named arguments in any order, some omitted --
TokenBucketStorageMemcached Object
(
    [servers:TokenBucketStorageMemcached:private] => h:11211
    [prefix:TokenBucketStorageMemcached:private] => p
)
