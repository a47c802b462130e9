--TEST--
Eight processes on one bucket are granted exactly its capacity
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

const PROCESSES = 8;
const TRIES = 100000;
const CAPACITY = 100000;
// The number of tries between two barriers. The barriers keep one process from taking all tokens
// before the other processes start.
const CHUNK = 5000;

$before = TokenBucket\status()['shared_memory'];
for ($round = 0; $round < 2; $round++) {
    $granted = in_processes(PROCESSES, function (int $index, callable $barrier) use ($round): int {
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "round $round", CAPACITY, 0.001);
        $granted = 0;
        for ($done = 0; $done < TRIES; $done += CHUNK) {
            $barrier();
            for ($i = 0; $i < CHUNK; $i++) {
                if ($bucket->consume()) {
                    $granted++;
                }
            }
        }
        return $granted;
    });
    check(array_sum($granted) === CAPACITY && min($granted) > 0, 'granted ' . json_encode($granted));
}
$after = TokenBucket\status()['shared_memory'];
$change = fn($name) => $after[$name] - $before[$name];
print_values($change('contended'), $change('granted'), $change('denied'), $change('inserted'));

// Checks that processes raced. The rounds above may cause no race on a busy machine.
$conflicts = fn() => TokenBucket\status()['shared_memory']['conflicts'];
for ($round = 0; $conflicts() === 0 && $round < 50; $round++) {
    in_processes(4, function () use ($round): int {
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "meet $round", 1000000, 0.001);
        for ($i = 0; $i < 200000; $i++) {
            $bucket->consume();
        }
        return 0;
    });
}
print_values($conflicts() > 0);
?>
--EXPECT--
0 200000 1400000 2
true
