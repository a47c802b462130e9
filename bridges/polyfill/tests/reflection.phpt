--TEST--
The classes and functions declare what the stub of the extension declares
--FILE--
<?php
require __DIR__ . '/child.php';

/** Classes and functions of the stub that this package does not have. */
const NOT_SERVED = [
    'TokenBucket\GuardedClient' => 'Only the extension has a guard.',
    'TokenBucket\AccessDeniedException' => 'Only a GuardedClient throws it.',
    'TokenBucket\client_address' => 'PHP code cannot read the trusted proxies of a php-fpm pool or of Apache, and would return the address of the proxy.',
    'TokenBucket\guard' => 'Only the extension has a guard.',
    'TokenBucket\Compat' => 'They replace limiters whose records are on Redis and memcached.',
];

/** Declarations that only PHP classes need. */
const ONLY_IN_PHP = ['__clone()', '__serialize()', '__unserialize()', '__destruct()'];

$php = [PHP_BINARY, '-n'];
$root = dirname(__DIR__, 3);
$stub = json_decode(run_php($php, __DIR__ . '/describe.inc.php', "$root/stubs/tokenbucket.stub.php"), true);
$mine = json_decode(run_php($php, __DIR__ . '/describe.inc.php', dirname(__DIR__) . '/src/autoload.php', json_encode(array_keys($stub))), true);
$compared = 0;
foreach ($stub as $name => $declared) {
    if (isset(NOT_SERVED[implode('\\', array_slice(explode('\\', $name), 0, 2))])) {
        echo isset($mine[$name]) ? "$name is listed as not served\n" : '';
        continue;
    }
    foreach ($declared + ($mine[$name] ?? []) as $member => $_) {
        $compared++;
        [$expected, $got] = [$declared[$member] ?? null, $mine[$name][$member] ?? null];
        if ($expected !== $got && !in_array($member, ONLY_IN_PHP, true)) {
            echo "$name $member\n  stub:     ", json_encode($expected), "\n  polyfill: ", json_encode($got), "\n";
        }
    }
}
echo $compared > 100 ? "compared\n" : "only $compared declarations\n";
?>
--EXPECT--
compared
