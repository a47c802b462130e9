--TEST--
Remote storages report the constructor argument that is invalid, and contact no server
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
foreach (['TokenBucketStorageRedis' => 'redis://h', 'TokenBucketStorageMemcached' => 'h'] as $class => $server) {
    echo "-- $class --\n";
    $calls = [
        fn () => new $class,
        fn () => new $class($server, '', 1.0, TokenBucket\OnFailure::Local, true, 1.0, 1),
        fn () => new $class(new stdClass),
        fn () => @new $class(null),
        fn () => new $class($server, []),
        fn () => new $class($server, timeout: 0),
        fn () => new $class($server, timeout: -1),
        fn () => new $class($server, timeout: NAN),
        fn () => new $class($server, timeout: INF),
        fn () => new $class($server, timeout: 3600.1),
        fn () => new $class($server, timeout: '1s'),
        fn () => new $class($server, onFailure: 'Local'),
        fn () => new $class($server, onFailure: null),
        fn () => new $class($server, onFailure: new stdClass),
        fn () => new $class($server, denialCache: []),
        fn () => new $class($server, denialCacheMaxAge: -0.1),
        fn () => new $class($server, denialCacheMaxAge: NAN),
        fn () => new $class($server, denialCacheMaxAge: INF),
        fn () => new $class($server, denialCacheMaxAge: 3601),
        fn () => new $class($server, denialCacheMaxAge: 'x'),
        fn () => new $class($server, retries: 3),
        fn () => new $class($server, $server, prefix: 'x'),
        fn () => new $class(prefix: 'x'),
        fn () => new $class('', timeout: -1),
    ];
    foreach ($calls as $call) {
        echo str_replace($class . '::__construct()', '__construct()', thrown($call)), "\n";
    }
    echo "-- the limits themselves are valid --\n";
    new $class($server, '', 1e-9, TokenBucket\OnFailure::Deny, false, 0);
    new $class($server, "any bytes\0\r\n\xff" . str_repeat('x', 100000), 3600, denialCacheMaxAge: 3600);
}
$status = TokenBucket\status();
print_values($status['stores'], $status['remote']['asked']);
?>
--EXPECT--
-- TokenBucketStorageRedis --
ArgumentCountError: __construct() expects at least 1 argument, 0 given
ArgumentCountError: __construct() expects at most 6 arguments, 7 given
TypeError: __construct(): Argument #1 ($dsn) must be of type string, stdClass given
ValueError: __construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://
TypeError: __construct(): Argument #2 ($prefix) must be of type string, array given
ValueError: __construct(): Argument #3 ($timeout) must be greater than 0 (2 times)
ValueError: __construct(): Argument #3 ($timeout) must be finite (2 times)
ValueError: __construct(): Argument #3 ($timeout) must be less than or equal to 3600
TypeError: __construct(): Argument #3 ($timeout) must be of type float, string given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, string given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, null given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, stdClass given
TypeError: __construct(): Argument #5 ($denialCache) must be of type bool, array given
ValueError: __construct(): Argument #6 ($denialCacheMaxAge) must be greater than or equal to 0
ValueError: __construct(): Argument #6 ($denialCacheMaxAge) must be finite (2 times)
ValueError: __construct(): Argument #6 ($denialCacheMaxAge) must be less than or equal to 3600
TypeError: __construct(): Argument #6 ($denialCacheMaxAge) must be of type float, string given
Error: Unknown named parameter $retries
Error: Named parameter $prefix overwrites previous argument
ArgumentCountError: __construct(): Argument #1 ($dsn) not passed
ValueError: __construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://
-- the limits themselves are valid --
-- TokenBucketStorageMemcached --
ArgumentCountError: __construct() expects at least 1 argument, 0 given
ArgumentCountError: __construct() expects at most 6 arguments, 7 given
TypeError: __construct(): Argument #1 ($servers) must be of type array|string, stdClass given
ValueError: __construct(): Argument #1 ($servers) must name at least one server
TypeError: __construct(): Argument #2 ($prefix) must be of type string, array given
ValueError: __construct(): Argument #3 ($timeout) must be greater than 0 (2 times)
ValueError: __construct(): Argument #3 ($timeout) must be finite (2 times)
ValueError: __construct(): Argument #3 ($timeout) must be less than or equal to 3600
TypeError: __construct(): Argument #3 ($timeout) must be of type float, string given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, string given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, null given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, stdClass given
TypeError: __construct(): Argument #5 ($denialCache) must be of type bool, array given
ValueError: __construct(): Argument #6 ($denialCacheMaxAge) must be greater than or equal to 0
ValueError: __construct(): Argument #6 ($denialCacheMaxAge) must be finite (2 times)
ValueError: __construct(): Argument #6 ($denialCacheMaxAge) must be less than or equal to 3600
TypeError: __construct(): Argument #6 ($denialCacheMaxAge) must be of type float, string given
Error: Unknown named parameter $retries
Error: Named parameter $prefix overwrites previous argument
ArgumentCountError: __construct(): Argument #1 ($servers) not passed
ValueError: __construct(): Argument #1 ($servers) must name at least one server
-- the limits themselves are valid --
[] 0
