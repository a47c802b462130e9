--TEST--
The classes and functions declare what the stub of the extension declares
--FILE--
<?php
require __DIR__ . '/child.php';

/** Classes and functions of the stub that this package does not have. */
const NOT_SERVED = [
    'TokenBucket\GuardedClient' => 'Only the extension has a guard.',
    'TokenBucket\AccessDeniedException' => 'Only a GuardedClient throws it.',
    'TokenBucket\LogReplay' => 'Only the extension has a guard, whose command uses this class.',
    'TokenBucket\client_address' => 'PHP code cannot read the trusted proxies of a php-fpm pool or of Apache, and would return the address of the proxy.',
    'TokenBucket\guard' => 'Only the extension has a guard.',
    'TokenBucket\guard_decisions' => 'Only the extension has a guard.',
    'TokenBucket\Compat' => 'They replace limiters whose records are on Redis and memcached.',
];

/** Declarations that only PHP classes need. */
const ONLY_IN_PHP = ['methods __clone', 'methods __serialize', 'methods __unserialize', 'methods __destruct'];

/** Returns what callers of a class can see, by name. */
function visible(array $class): array
{
    foreach (['constants', 'properties', 'methods'] as $kind) {
        foreach ($class[$kind] as $name => $member) {
            if (!in_array('private', $member['modifiers'], true)) {
                $members["$kind $name"] = $member;
            } elseif ($name === '__construct') {
                // Callers cannot see the parameters of a private constructor.
                $members["$kind $name"] = $member['modifiers'];
            }
        }
        unset($class[$kind]);
    }
    // The modifiers of the properties say that a class is readonly.
    $class['modifiers'] = array_values(array_diff($class['modifiers'], ['readonly']));
    return ['class' => $class] + ($members ?? []);
}

$root = dirname(__DIR__, 3);
$reflect = fn (string ...$arguments) => json_decode(run_php([PHP_BINARY, '-n'], "$root/php-tests/00_module/reflection.inc.php", 'file', ...$arguments), true);
$stub = $reflect("$root/stubs/tokenbucket.stub.php");
$mine = $reflect(dirname(__DIR__) . '/src/autoload.php', ...array_keys($stub['classes']));
$compared = 0;
foreach ($stub['classes'] + $stub['functions'] as $name => $declared) {
    $its = ($mine['classes'] + $mine['functions'])[$name] ?? null;
    if (isset(NOT_SERVED[implode('\\', array_slice(explode('\\', $name), 0, 2))])) {
        echo $its === null ? '' : "$name is listed as not served\n";
        continue;
    }
    [$declared, $its] = array_map(fn (?array $it) => isset($it['methods']) ? visible($it) : ['function' => $it], [$declared, $its]);
    foreach ($declared + $its as $member => $_) {
        $compared++;
        [$expected, $got] = [$declared[$member] ?? null, $its[$member] ?? null];
        if ($expected !== $got && !in_array($member, ONLY_IN_PHP, true)) {
            echo "$name $member\n  stub:     ", json_encode($expected), "\n  polyfill: ", json_encode($got), "\n";
        }
    }
}
echo $compared > 100 ? "compared\n" : "only $compared declarations\n";
?>
--EXPECT--
compared
