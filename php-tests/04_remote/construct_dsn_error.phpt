--TEST--
TokenBucketStorageRedis reports the fault of an invalid DSN
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$long = str_repeat('x', 200);
foreach ([
    '', 'localhost', 'http://h', 'REDIS:/h', 'redis://', 'redis://:6379', 'redis://h:0', 'redis://h:99999', 'redis://h:x',
    'redis://h/x', 'redis://h/-1', 'redis://h/2147483648', 'redis://h/1/2', 'redis://user@h', 'redis://@h', 'redis://:@h',
    'redis://:%zz@h', 'redis://:%ff@h', 'redis://:%00@h', "redis://h\n", 'redis://h#x', 'redis://::1', 'redis://[::1', 'redis://[h]',
    'redis://h?db=1', 'redis://h?cafile=/x', 'rediss://h?cafile=x', 'rediss://h?cafile=', 'rediss://h?servername=a%20b',
    'rediss://h?servername=a&servername=b', 'unix://', 'unix:///', 'unix://run/x', 'unix:///x?db=', 'unix:///x?db=x',
    'unix:///x?user=u', "unix:///$long", "redis://\xff", 'redis+cluster://a,,b', 'redis+cluster://a/1',
    'redis+cluster://a?hash_tags=x', 'redis+sentinel://a,b', 'redis+sentinel://a/b/c', 'redis+sentinel://a/b?hash_tags=1',
] as $dsn) {
    echo str_replace($long, 'long', json_encode($dsn, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE)), ': ';
    echo str_replace('ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) ', '', thrown(fn () => new TokenBucketStorageRedis($dsn))), "\n";
}
?>
--EXPECT--
"": must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://
"localhost": must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://
"http://h": must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://
"REDIS:/h": must start with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://
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
"redis://h?db=1": must have only options of its scheme: cafile, certfile, keyfile and servername with TLS; db, user and password with unix://; sentinel_user and sentinel_password with sentinels; hash_tags with a cluster
"redis://h?cafile=/x": must have only options of its scheme: cafile, certfile, keyfile and servername with TLS; db, user and password with unix://; sentinel_user and sentinel_password with sentinels; hash_tags with a cluster
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
"redis+cluster://a,,b": must have a host
"redis+cluster://a/1": must have no database other than 0 with a cluster
"redis+cluster://a?hash_tags=x": must have 0 or 1 as its hash_tags option
"redis+sentinel://a,b": must have the name of the primary after the sentinels, as in redis+sentinel://s1,s2/name
"redis+sentinel://a/b/c": must have a database between 0 and 2147483647
"redis+sentinel://a/b?hash_tags=1": must have only options of its scheme: cafile, certfile, keyfile and servername with TLS; db, user and password with unix://; sentinel_user and sentinel_password with sentinels; hash_tags with a cluster
