--TEST--
Remote storages report the fault of an invalid address
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

// Each message once. The unit tests of crates/stores have the addresses that break each rule.
$report = function (string $class, array $addresses): void {
    foreach ($addresses as $address) {
        echo json_encode($address, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE), ': ';
        echo preg_replace('/ \w+::__construct\(\): Argument #1 \(\$\w+\)/', '', thrown(fn () => new $class($address))), "\n";
    }
};
$report('TokenBucketStorageRedis', [
    'localhost', 'redis://', 'redis://h:0', 'redis://h/x', 'redis://user@h', 'redis://@h', 'redis://:%zz@h', 'redis://:%ff@h',
    "redis://h\n", 'redis://h#x', 'redis://::1', 'redis://h?db=1', 'rediss://h?cafile=x', 'rediss://h?servername=a%20b',
    'rediss://h?servername=a&servername=b', 'unix://', 'unix:///' . str_repeat('x', 107), "redis://\xff", 'redis+cluster://a/1',
    'redis+cluster://a?hash_tags=x', 'redis://a?one_server=x', 'redis+sentinel://a,b',
]);
$report('TokenBucketStorageMemcached', [
    [], 'a,,b', 'a:0', 'a b', "\xff", "a\n", '::1', 'a?weight=0', 'a?x=1', 'unix://x', ['a', 'a:11211'], ['a', 1],
]);
?>
--EXPECT--
"localhost": ValueError: must start with redis://, rediss://, unix://, redis+cluster://, redis+ring:// or redis+sentinel://
"redis://": ValueError: must have a host
"redis://h:0": ValueError: must have a port between 1 and 65535
"redis://h/x": ValueError: must have a database between 0 and 2147483647
"redis://user@h": ValueError: must have a password if it has a user (a password alone is written ":password@")
"redis://@h": ValueError: must not have empty credentials
"redis://:%zz@h": ValueError: must have two hexadecimal digits after each "%" (a percent sign is "%25")
"redis://:%ff@h": ValueError: must be percent-encoded UTF-8
"redis://h\n": ValueError: must not contain control characters, not even percent-encoded
"redis://h#x": ValueError: must not have a fragment (in a password, "#" is "%23")
"redis://::1": ValueError: must have a host of letters, digits, ".", "-" and "_", or an IPv6 address in brackets
"redis://h?db=1": ValueError: must have only options of its scheme: cafile, certfile, keyfile and servername with TLS; db, user and password with unix://; sentinel_user and sentinel_password with sentinels; hash_tags with a cluster; one_server with a single server; weights with a ring
"rediss://h?cafile=x": ValueError: must have an absolute path as its cafile option
"rediss://h?servername=a%20b": ValueError: must have a DNS name or an IP address as its host and servername option
"rediss://h?servername=a&servername=b": ValueError: must not have an option twice
"unix://": ValueError: must have the absolute path of a socket, as in unix:///run/redis.sock
"unix:///xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": ValueError: must have a socket path of at most 107 bytes
"redis://\ufffd": ValueError: must be valid UTF-8
"redis+cluster://a/1": ValueError: must have no database other than 0 with a cluster
"redis+cluster://a?hash_tags=x": ValueError: must have 0 or 1 as its hash_tags option
"redis://a?one_server=x": ValueError: must have 0 or 1 as its one_server option
"redis+sentinel://a,b": ValueError: must have the name of the primary after the sentinels, as in redis+sentinel://s1,s2/name
[]: ValueError: must name at least one server
"a,,b": ValueError: must name a host for each server
"a:0": ValueError: must have a port from 1 to 65535
"a b": ValueError: must name each host by its name or address
"\ufffd": ValueError: must name each host by its name or address
"a\n": ValueError: must not contain control characters
"::1": ValueError: must have IPv6 addresses, and only them, in brackets, as in [::1]:11211
"a?weight=0": ValueError: must have a weight from 1 to 65535
"a?x=1": ValueError: must have no option other than weight
"unix://x": ValueError: must name a socket by its absolute path of at most 107 bytes, as in unix:///run/mc.sock
["a","a:11211"]: ValueError: must name each server once
["a",1]: TypeError: must contain only strings
