--TEST--
The constructors of remote storages with nonsense: errors that name the argument
--FILE--
<?php
require __DIR__ . '/../check.inc.php';

$long = str_repeat('x', 200);
echo "-- dsn --\n";
foreach ([
    '', 'localhost', 'http://h', 'REDIS:/h', 'redis://', 'redis://:6379', 'redis://h:0', 'redis://h:99999', 'redis://h:x',
    'redis://h/x', 'redis://h/-1', 'redis://h/2147483648', 'redis://h/1/2', 'redis://user@h', 'redis://@h', 'redis://:@h',
    'redis://:%zz@h', 'redis://:%ff@h', 'redis://:%00@h', "redis://h\n", 'redis://h#x', 'redis://::1', 'redis://[::1', 'redis://[h]',
    'redis://h?db=1', 'redis://h?cafile=/x', 'rediss://h?cafile=x', 'rediss://h?cafile=', 'rediss://h?servername=a%20b',
    'rediss://h?servername=a&servername=b', 'unix://', 'unix:///', 'unix://run/x', 'unix:///x?db=', 'unix:///x?db=x',
    'unix:///x?user=u', "unix:///$long", "redis://\xff",
] as $dsn) {
    echo str_replace($long, 'long', json_encode($dsn, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE)), ': ';
    echo str_replace('ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) ', '', thrown(fn () => new TokenBucketStorageRedis($dsn))), "\n";
}
echo "-- servers --\n";
foreach ([
    '', ' ', [], [''], ['a', ''], 'a,,b', ':1', 'a:', 'a:0', 'a:65536', 'a:x', 'a b', 'a/b', "a\n", "a\0", '::1', '[a]',
    'a?weight=0', 'a?weight=65536', 'a?weight=x', 'a?x=1', 'unix://x', 'unix:///', '/x', ['a', 'a:11211'], ['a', 1], [null], [['a']],
    [new ArrayObject], "\xff",
] as $servers) {
    echo json_encode($servers, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE), ': ';
    echo str_replace('TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) ', '', thrown(fn () => new TokenBucketStorageMemcached($servers))), "\n";
}
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
        fn () => new $class($server, hints: []),
        fn () => new $class($server, hintMaxAge: -0.1),
        fn () => new $class($server, hintMaxAge: NAN),
        fn () => new $class($server, hintMaxAge: INF),
        fn () => new $class($server, hintMaxAge: 3601),
        fn () => new $class($server, hintMaxAge: 'x'),
        fn () => new $class($server, retries: 3),
        fn () => new $class($server, $server, prefix: 'x'),
        fn () => new $class(prefix: 'x'),
        fn () => new $class('', timeout: -1),
    ];
    foreach ($calls as $call) {
        echo str_replace($class . '::__construct()', '__construct()', thrown($call)), "\n";
    }
    echo "-- the limits themselves are fine --\n";
    new $class($server, '', 1e-9, TokenBucket\OnFailure::Deny, false, 0);
    new $class($server, "any bytes\0\r\n\xff" . str_repeat('x', 100000), 3600, hintMaxAge: 3600);
}
$status = TokenBucket\status();
var_dump($status['stores'], $status['remote']['asked']);
?>
--EXPECT--
-- dsn --
"": must start with redis://, rediss://, unix:// or redis+unix://
"localhost": must start with redis://, rediss://, unix:// or redis+unix://
"http://h": must start with redis://, rediss://, unix:// or redis+unix://
"REDIS:/h": must start with redis://, rediss://, unix:// or redis+unix://
"redis://": must have a host
"redis://:6379": must have a host
"redis://h:0": must have a port between 1 and 65535
"redis://h:99999": must have a port between 1 and 65535
"redis://h:x": must have a port between 1 and 65535
"redis://h/x": must have a database between 0 and 2147483647
"redis://h/-1": must have a database between 0 and 2147483647
"redis://h/2147483648": must have a database between 0 and 2147483647
"redis://h/1/2": must have a database between 0 and 2147483647
"redis://user@h": must have a password if it has a user (a password alone is written ":password@")
"redis://@h": must not have empty credentials
"redis://:@h": must not have empty credentials
"redis://:%zz@h": must have two hexadecimal digits after each "%" (a percent sign is "%25")
"redis://:%ff@h": must be percent-encoded UTF-8
"redis://:%00@h": must not contain control characters, not even percent-encoded
"redis://h\n": must not contain control characters, not even percent-encoded
"redis://h#x": must not have a fragment (in a password, "#" is "%23")
"redis://::1": must have a host of letters, digits, ".", "-" and "_", or an IPv6 address in brackets
"redis://[::1": must have a host of letters, digits, ".", "-" and "_", or an IPv6 address in brackets
"redis://[h]": must have a host of letters, digits, ".", "-" and "_", or an IPv6 address in brackets
"redis://h?db=1": must have only options of its scheme: cafile and servername with rediss://, db, user and password with unix://
"redis://h?cafile=/x": must have only options of its scheme: cafile and servername with rediss://, db, user and password with unix://
"rediss://h?cafile=x": must have an absolute path as its cafile option
"rediss://h?cafile=": must have an absolute path as its cafile option
"rediss://h?servername=a%20b": must have a DNS name or an IP address as its host and servername option
"rediss://h?servername=a&servername=b": must not have an option twice
"unix://": must have the absolute path of a socket, as in unix:///run/redis.sock
"unix:///": must have the absolute path of a socket, as in unix:///run/redis.sock
"unix://run/x": must have the absolute path of a socket, as in unix:///run/redis.sock
"unix:///x?db=": must have a database between 0 and 2147483647
"unix:///x?db=x": must have a database between 0 and 2147483647
"unix:///x?user=u": must have a password if it has a user (a password alone is written ":password@")
"unix:///long": must have a socket path of at most 107 bytes
"redis://\ufffd": must be valid UTF-8
-- servers --
"": ValueError: must name at least one server
" ": ValueError: must name at least one server
[]: ValueError: must name at least one server
[""]: ValueError: must name at least one server
["a",""]: ValueError: must name a host for each server
"a,,b": ValueError: must name a host for each server
":1": ValueError: must name a host for each server
"a:": ValueError: must have a port from 1 to 65535
"a:0": ValueError: must have a port from 1 to 65535
"a:65536": ValueError: must have a port from 1 to 65535
"a:x": ValueError: must have a port from 1 to 65535
"a b": ValueError: must name each host by its name or address
"a/b": ValueError: must name each host by its name or address
"a\n": ValueError: must not contain control characters
"a\u0000": ValueError: must not contain control characters
"::1": ValueError: must have IPv6 addresses, and only them, in brackets, as in [::1]:11211
"[a]": ValueError: must have IPv6 addresses, and only them, in brackets, as in [::1]:11211
"a?weight=0": ValueError: must have a weight from 1 to 65535
"a?weight=65536": ValueError: must have a weight from 1 to 65535
"a?weight=x": ValueError: must have a weight from 1 to 65535
"a?x=1": ValueError: must have no option other than weight
"unix://x": ValueError: must name a socket by its absolute path of at most 107 bytes, as in unix:///run/mc.sock
"unix:///": ValueError: must name a socket by its absolute path of at most 107 bytes, as in unix:///run/mc.sock
"/x": ValueError: must name a socket by its absolute path of at most 107 bytes, as in unix:///run/mc.sock
["a","a:11211"]: ValueError: must name each server once
["a",1]: TypeError: must contain only strings
[null]: TypeError: must contain only strings
[["a"]]: TypeError: must contain only strings
[{}]: TypeError: must contain only strings
"\ufffd": ValueError: must name each host by its name or address
-- TokenBucketStorageRedis --
ArgumentCountError: __construct() expects at least 1 argument, 0 given
ArgumentCountError: __construct() expects at most 6 arguments, 7 given
TypeError: __construct(): Argument #1 ($dsn) must be of type string, stdClass given
ValueError: __construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix:// or redis+unix://
TypeError: __construct(): Argument #2 ($prefix) must be of type string, array given
ValueError: __construct(): Argument #3 ($timeout) must be greater than 0
ValueError: __construct(): Argument #3 ($timeout) must be greater than 0
ValueError: __construct(): Argument #3 ($timeout) must be finite
ValueError: __construct(): Argument #3 ($timeout) must be finite
ValueError: __construct(): Argument #3 ($timeout) must be less than or equal to 3600
TypeError: __construct(): Argument #3 ($timeout) must be of type float, string given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, string given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, null given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, stdClass given
TypeError: __construct(): Argument #5 ($hints) must be of type bool, array given
ValueError: __construct(): Argument #6 ($hintMaxAge) must be greater than or equal to 0
ValueError: __construct(): Argument #6 ($hintMaxAge) must be finite
ValueError: __construct(): Argument #6 ($hintMaxAge) must be finite
ValueError: __construct(): Argument #6 ($hintMaxAge) must be less than or equal to 3600
TypeError: __construct(): Argument #6 ($hintMaxAge) must be of type float, string given
Error: Unknown named parameter $retries
Error: Named parameter $prefix overwrites previous argument
ArgumentCountError: __construct(): Argument #1 ($dsn) not passed
ValueError: __construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix:// or redis+unix://
-- the limits themselves are fine --
-- TokenBucketStorageMemcached --
ArgumentCountError: __construct() expects at least 1 argument, 0 given
ArgumentCountError: __construct() expects at most 6 arguments, 7 given
TypeError: __construct(): Argument #1 ($servers) must be of type array|string, stdClass given
ValueError: __construct(): Argument #1 ($servers) must name at least one server
TypeError: __construct(): Argument #2 ($prefix) must be of type string, array given
ValueError: __construct(): Argument #3 ($timeout) must be greater than 0
ValueError: __construct(): Argument #3 ($timeout) must be greater than 0
ValueError: __construct(): Argument #3 ($timeout) must be finite
ValueError: __construct(): Argument #3 ($timeout) must be finite
ValueError: __construct(): Argument #3 ($timeout) must be less than or equal to 3600
TypeError: __construct(): Argument #3 ($timeout) must be of type float, string given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, string given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, null given
TypeError: __construct(): Argument #4 ($onFailure) must be of type TokenBucket\OnFailure, stdClass given
TypeError: __construct(): Argument #5 ($hints) must be of type bool, array given
ValueError: __construct(): Argument #6 ($hintMaxAge) must be greater than or equal to 0
ValueError: __construct(): Argument #6 ($hintMaxAge) must be finite
ValueError: __construct(): Argument #6 ($hintMaxAge) must be finite
ValueError: __construct(): Argument #6 ($hintMaxAge) must be less than or equal to 3600
TypeError: __construct(): Argument #6 ($hintMaxAge) must be of type float, string given
Error: Unknown named parameter $retries
Error: Named parameter $prefix overwrites previous argument
ArgumentCountError: __construct(): Argument #1 ($servers) not passed
ValueError: __construct(): Argument #1 ($servers) must name at least one server
-- the limits themselves are fine --
array(0) {
}
int(0)
