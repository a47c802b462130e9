--TEST--
The garbage collector frees a bucket whose storage is its key in a WeakMap
--SKIPIF--
<?php
if (PHP_VERSION_ID < 80300) {
    die('skip PHP before 8.3 does not collect cycles through a WeakMap');
}
?>
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
class Noting extends TokenBucket
{
    public mixed $note = null;
}

$map = new WeakMap;
$storages = [
    new TokenBucketStorageMemory,
    new TokenBucketStorageSharedMemory,
    new TokenBucketStorageRedis('redis://127.0.0.1:1', onFailure: TokenBucket\OnFailure::Allow),
];
foreach ($storages as $storage) {
    foreach ([TokenBucket::class, Noting::class] as $class) {
        $bucket = new $class($storage, 'x', 10, 1);
        @$bucket->consume();
        if ($bucket instanceof Noting) {
            $bucket->note = [$bucket];
            @$bucket->dynamic = 'a table of properties';
        }
        $map[$storage] ??= [];
        $map[$storage] = [...$map[$storage], $bucket];
    }
}
unset($storages, $storage, $bucket);
echo count($map), "\n";
gc_collect_cycles();
echo count($map), "\n";

echo "-- a bucket that is in use stays --\n";
$bucket = new TokenBucket(new TokenBucketStorageMemory, 'x', 10, 1);
$bucket->consume(4);
$loop = [$bucket];
$loop[] = &$loop;
unset($loop);
var_dump(gc_collect_cycles() > 0, $bucket->peek()->remaining, $bucket->consume(6), $bucket->consume());
?>
--EXPECT--
3
0
-- a bucket that is in use stays --
bool(true)
float(6)
bool(true)
bool(false)
