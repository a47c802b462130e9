--TEST--
Under strict_types constructors of remote storages accept only their declared types
--FILE--
<?php
declare(strict_types=1);

require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/construct.inc.php';

construct(fn (string $class, ...$arguments) => new $class(...$arguments));
?>
--EXPECTF--
-- TokenBucketStorageRedis --
server: TypeError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must be of type string, class@anonymous given 
number as a server: TypeError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must be of type string, int given 
prefix: TypeError: TokenBucketStorageRedis::__construct(): Argument #2 ($prefix) must be of type string, int given 
null as a prefix: TypeError: TokenBucketStorageRedis::__construct(): Argument #2 ($prefix) must be of type string, null given 
timeout: TypeError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be of type float, string given 
integer as a timeout: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
true as a timeout: TypeError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be of type float, %rbool|true%r given 
text as a timeout: TypeError: TokenBucketStorageRedis::__construct(): Argument #3 ($timeout) must be of type float, string given 
hints: TypeError: TokenBucketStorageRedis::__construct(): Argument #5 ($hints) must be of type bool, int given 
text as hints: TypeError: TokenBucketStorageRedis::__construct(): Argument #5 ($hints) must be of type bool, string given 
null as hints: TypeError: TokenBucketStorageRedis::__construct(): Argument #5 ($hints) must be of type bool, null given 
hintMaxAge: TypeError: TokenBucketStorageRedis::__construct(): Argument #6 ($hintMaxAge) must be of type float, string given 
integer as hintMaxAge: "redis:\/\/h:6379\/0" "tokenbucket:" nothing thrown 
-- named arguments in any order, some omitted --
TokenBucketStorageRedis Object
(
    [server:TokenBucketStorageRedis:private] => redis://h:6379/0
    [prefix:TokenBucketStorageRedis:private] => p
)
-- TokenBucketStorageMemcached --
server: TypeError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must be of type array|string, class@anonymous given 
number as a server: TypeError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must be of type array|string, int given 
prefix: TypeError: TokenBucketStorageMemcached::__construct(): Argument #2 ($prefix) must be of type string, int given 
null as a prefix: TypeError: TokenBucketStorageMemcached::__construct(): Argument #2 ($prefix) must be of type string, null given 
timeout: TypeError: TokenBucketStorageMemcached::__construct(): Argument #3 ($timeout) must be of type float, string given 
integer as a timeout: "h:11211" "tokenbucket:" nothing thrown 
true as a timeout: TypeError: TokenBucketStorageMemcached::__construct(): Argument #3 ($timeout) must be of type float, %rbool|true%r given 
text as a timeout: TypeError: TokenBucketStorageMemcached::__construct(): Argument #3 ($timeout) must be of type float, string given 
hints: TypeError: TokenBucketStorageMemcached::__construct(): Argument #5 ($hints) must be of type bool, int given 
text as hints: TypeError: TokenBucketStorageMemcached::__construct(): Argument #5 ($hints) must be of type bool, string given 
null as hints: TypeError: TokenBucketStorageMemcached::__construct(): Argument #5 ($hints) must be of type bool, null given 
hintMaxAge: TypeError: TokenBucketStorageMemcached::__construct(): Argument #6 ($hintMaxAge) must be of type float, string given 
integer as hintMaxAge: "h:11211" "tokenbucket:" nothing thrown 
-- named arguments in any order, some omitted --
TokenBucketStorageMemcached Object
(
    [servers:TokenBucketStorageMemcached:private] => h:11211
    [prefix:TokenBucketStorageMemcached:private] => p
)
