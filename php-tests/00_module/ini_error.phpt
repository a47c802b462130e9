--TEST--
INI: an invalid value causes a warning, and the default is used
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

$code = <<<'PHP'
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "x", 1, 1);
$memory = TokenBucket\status()["shared_memory"];
printf("%s, %s, %s, %s\n", var_export($bucket->consume(), true), $memory["backing"], $memory["full"],
    $memory["size"] >= 32 << 20 ? "32M" : $memory["size"]);
PHP;
$default = "true, memfd, evict, 32M\n";
$bad = [
    ['shm_size', 'many'],
    ['shm_size', '0'],
    ['shm_size', '-1'],
    ['shm_size', '32X'],
    ['shm_full', 'maybe'],
    ['shm_full', ''],
    ['shm_mode', 'rw'],
    ['shm_mode', '0999'],
    ['shm_mode', '0'],
    ['shm_group', 'no-such-group-here'],
    ['shm_path', 'relative/path'],
];
foreach ($bad as [$name, $value]) {
    $said = php_run($code, ["tokenbucket.$name" => $value]);
    check(str_ends_with($said, "\n$default"), "$name = '$value': the default: $said");
    echo "== $name = '$value'\n", str_replace([' in Unknown on line 0', $default], '', ltrim($said));
}
?>
--EXPECTF--
== shm_size = 'many'
Warning: tokenbucket: tokenbucket.shm_size must be a size of 4K to 256G, "many" given; using the default
== shm_size = '0'
Warning: tokenbucket: tokenbucket.shm_size must be a size of 4K to 256G, "0" given; using the default
== shm_size = '-1'
Warning: tokenbucket: tokenbucket.shm_size must be a size of 4K to 256G, "-1" given; using the default
== shm_size = '32X'
Warning: tokenbucket: tokenbucket.shm_size must be a size of 4K to 256G, "32X" given; using the default
== shm_full = 'maybe'
Warning: tokenbucket: tokenbucket.shm_full must be "evict" or "refuse", "maybe" given; using the default
== shm_full = ''
Warning: tokenbucket: tokenbucket.shm_full must be "evict" or "refuse", "" given; using the default
== shm_mode = 'rw'
Warning: tokenbucket: tokenbucket.shm_mode must be an octal mode such as 0600, "rw" given; using the default
== shm_mode = '0999'
Warning: tokenbucket: tokenbucket.shm_mode must be an octal mode such as 0600, "0999" given; using the default
== shm_mode = '0'
Warning: tokenbucket: tokenbucket.shm_mode must be an octal mode such as 0600, "0" given; using the default
== shm_group = 'no-such-group-here'
Warning: tokenbucket: tokenbucket.shm_group must be a group, "no-such-group-here" given; using the default
== shm_path = 'relative/path'
Warning: tokenbucket: the segment relative/path is refused (not an absolute path of a file); using private shared memory instead
