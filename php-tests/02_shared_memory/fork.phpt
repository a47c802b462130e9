--TEST--
Forked children share the buckets, and a child's exit changes no bucket
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 10, 0.001);
$bucket->consume();
echo json_encode(in_processes(3, fn($index) => $bucket->consume($index + 1))), ' ', $bucket->peek()->remaining, "\n";

echo "-- the parent uses a bucket that a child created --\n";
in_processes(1, fn() => (new TokenBucket(new TokenBucketStorageSharedMemory, 'y', 10, 0.001))->consume(4));
print_values((new TokenBucket(new TokenBucketStorageSharedMemory, 'y', 10, 0.001))->peek()->remaining);

echo "-- grandchildren share the buckets, too --\n";
in_processes(1, function () use ($bucket) {
    if (pcntl_fork() === 0) {
        $bucket->consume();
        send_signal('KILL', getmypid());
        sleep(60);
    }
    pcntl_wait($status);
});
print_values($bucket->peek()->remaining);

echo "-- status() counts the calls of children --\n";
$memory = TokenBucket\status()['shared_memory'];
print_values($memory['granted'], $memory['denied'], $memory['live']);

echo "-- each process has its own memory storage --\n";
$private = new TokenBucket(new TokenBucketStorageMemory, 'x', 10, 1);
print_values(in_processes(2, fn() => $private->consume(10)), $private->peek()->remaining);
?>
--EXPECT--
[true,true,true] 3
-- the parent uses a bucket that a child created --
6.0
-- grandchildren share the buckets, too --
2.0
-- status() counts the calls of children --
6 0 2
-- each process has its own memory storage --
[true, true] 10.0
