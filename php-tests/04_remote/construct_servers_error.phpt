--TEST--
TokenBucketStorageMemcached reports the fault of an invalid list of servers
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

foreach ([
    '', ' ', [], [''], ['a', ''], 'a,,b', ':1', 'a:', 'a:0', 'a:65536', 'a:x', 'a b', 'a/b', "a\n", "a\0", '::1', '[a]',
    'a?weight=0', 'a?weight=65536', 'a?weight=x', 'a?x=1', 'unix://x', 'unix:///', '/x', ['a', 'a:11211'], ['a', 1], [null], [['a']],
    [new ArrayObject], "\xff",
] as $servers) {
    echo json_encode($servers, JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE), ': ';
    echo str_replace('TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) ', '', thrown(fn () => new TokenBucketStorageMemcached($servers))), "\n";
}
?>
--EXPECT--
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
