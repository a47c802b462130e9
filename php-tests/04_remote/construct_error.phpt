--TEST--
Remote storages report the constructor argument that is invalid, and contact no server
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
const SERVERS = ['TokenBucketStorageRedis' => 'redis://h', 'TokenBucketStorageMemcached' => 'h'];
foreach (array_keys(SERVERS) as $class) {
    foreach ([[new stdClass], [null], ['prefix' => 'x'], ['', 'timeout' => -1]] as $arguments) {
        echo thrown(fn () => @new $class(...$arguments)), "\n";
    }
}
alike(array_keys(SERVERS), function (string $class) {
    $server = SERVERS[$class];
    foreach ([
        [], [$server, '', 1.0, TokenBucket\OnFailure::Local, true, 1.0, 0.0, 1], [$server, []],
        [$server, 'timeout' => 0], [$server, 'timeout' => -1], [$server, 'timeout' => NAN], [$server, 'timeout' => INF],
        [$server, 'timeout' => 3600.1], [$server, 'timeout' => '1s'],
        [$server, 'onFailure' => 'Local'], [$server, 'onFailure' => null], [$server, 'onFailure' => new stdClass],
        [$server, 'denialCache' => []], [$server, 'denialCacheMaxAge' => -0.1], [$server, 'denialCacheMaxAge' => NAN],
        [$server, 'denialCacheMaxAge' => INF], [$server, 'denialCacheMaxAge' => 3601], [$server, 'denialCacheMaxAge' => 'x'],
        [$server, 'takeAhead' => -0.1], [$server, 'takeAhead' => 1.1], [$server, 'takeAhead' => NAN], [$server, 'takeAhead' => 'x'],
        [$server, 'denialCache' => false, 'takeAhead' => 1], [$server, 'retries' => 3],
    ] as $arguments) {
        echo thrown(fn () => new $class(...$arguments)), "\n";
    }
    echo thrown(fn () => new $class($server, $server, prefix: 'x')), "\n";
    echo "-- the limits themselves are valid --\n";
    new $class($server, '', 1e-9, TokenBucket\OnFailure::Deny, false, 0);
    new $class($server, "any bytes\0\r\n\xff" . str_repeat('x', 100000), 3600, denialCacheMaxAge: 3600, takeAhead: 0);
});
new TokenBucketStorageRedis('redis://h', takeAhead: 1);
new TokenBucketStorageRedis('redis://h?take_ahead=1', denialCache: false);
echo thrown(fn () => new TokenBucketStorageRedis('redis://h?take_ahead=1.1')), "\n";
echo thrown(fn () => new TokenBucketStorageMemcached('h', takeAhead: 0.2)), "\n";
$status = TokenBucket\status();
print_values($status['stores'], $status['remote']['asked']);
?>
--EXPECT--
TypeError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must be of type string, stdClass given
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix://, redis+cluster://, redis+ring:// or redis+sentinel://
ArgumentCountError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) not passed
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix://, redis+cluster://, redis+ring:// or redis+sentinel://
TypeError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must be of type array|string, stdClass given
ValueError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must name at least one server
ArgumentCountError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) not passed
ValueError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must name at least one server
ArgumentCountError: …::__construct() expects at least 1 argument, 0 given
ArgumentCountError: …::__construct() expects at most 7 arguments, 8 given
TypeError: …::__construct(): Argument #2 ($prefix) must be of type string, array given
ValueError: …::__construct(): Argument #3 ($timeout) must be greater than 0 (2 times)
ValueError: …::__construct(): Argument #3 ($timeout) must be finite (2 times)
ValueError: …::__construct(): Argument #3 ($timeout) must be less than or equal to 3600
TypeError: …::__construct(): Argument #3 ($timeout) must be of type float, string given
TypeError: …::__construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, string given
TypeError: …::__construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, null given
TypeError: …::__construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, stdClass given
TypeError: …::__construct(): Argument #5 ($denialCache) must be of type bool, array given
ValueError: …::__construct(): Argument #6 ($denialCacheMaxAge) must be greater than or equal to 0
ValueError: …::__construct(): Argument #6 ($denialCacheMaxAge) must be finite (2 times)
ValueError: …::__construct(): Argument #6 ($denialCacheMaxAge) must be less than or equal to 3600
TypeError: …::__construct(): Argument #6 ($denialCacheMaxAge) must be of type float, string given
ValueError: …::__construct(): Argument #7 ($takeAhead) must be greater than or equal to 0
ValueError: …::__construct(): Argument #7 ($takeAhead) must be less than or equal to 1
ValueError: …::__construct(): Argument #7 ($takeAhead) must be finite
TypeError: …::__construct(): Argument #7 ($takeAhead) must be of type float, string given
ValueError: …::__construct(): Argument #7 ($takeAhead) must be 0 if $denialCache is false
Error: Unknown named parameter $retries
Error: Named parameter $prefix overwrites previous argument
-- the limits themselves are valid --
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have a number of seconds from 0 to 1 as its take_ahead option
LogicException: $takeAhead must be 0, because only TokenBucketStorageRedis can take tokens ahead
[] 0
