--TEST--
Eight processes make 2,000 calls each while some are killed, and exactly the capacity is granted
--EXTENSIONS--
pcntl
--FILE--
<?php
use TokenBucket\Polyfill\Quota;
use TokenBucket\Polyfill\Settings;

require __DIR__ . '/../../../tools/testkit/php/check.php';

const PROCESSES = 8;
const CALLS = 2_000;
const CAPACITY = 6_000;
define('START', time() - 60);

/** Returns a bucket that gains a token in nine hours, so that none is refilled meanwhile. */
function bucket(): TokenBucket
{
    return new TokenBucket(new TokenBucketStorageSharedMemory, 'all', CAPACITY, CAPACITY / Quota::MOST * 1e9 * 1.1);
}

/** Returns a quota whose window has begun and ends in a year. */
function quota(): TokenBucket
{
    return new TokenBucket\Quota(new TokenBucketStorageSharedMemory, 'all', CAPACITY, TokenBucket\Period::Year, new DateTime('@' . START));
}

/**
 * Makes calls until the log has CALLS of them. The log has a byte before each call and a byte with
 * the answer after it. A process that is killed between them leaves a call without an answer.
 */
function call_and_log(string $log, callable $bucket): void
{
    $handle = fopen($log, 'ab');
    stream_set_write_buffer($handle, 0);
    $made = substr_count(file_get_contents($log), '(');
    $bucket = $bucket();
    for (; $made < CALLS; $made++) {
        fwrite($handle, '(');
        fwrite($handle, $bucket->consume() ? 'g' : 'd');
    }
}

function start(string $log, callable $bucket): int
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        call_and_log($log, $bucket);
        exit(0);
    }
    return $pid;
}

/** Runs all processes and kills one of them after each $interval bytes of the logs. */
function run(?int $interval, callable $bucket): array
{
    Settings::$folder = new_folder();
    $logs = [];
    for ($i = 0; $i < PROCESSES; $i++) {
        $log = Settings::$folder . "/log$i";
        touch($log);
        $logs[start($log, $bucket)] = $log;
    }
    $all = array_values($logs);
    $kills = 0;
    mt_srand(7);
    for ($next = $interval ?? PHP_INT_MAX; $logs !== [];) {
        $ended = pcntl_wait($status, WNOHANG);
        if ($ended > 0) {
            unset($logs[$ended]);
            continue;
        }
        clearstatcache();
        if (array_sum(array_map(filesize(...), $all)) >= $next) {
            $next += $interval;
            $victim = array_rand($logs);
            exec("kill -9 $victim");
            pcntl_waitpid($victim, $status);
            // The victim may just have ended.
            $kills += (int) pcntl_wifsignaled($status);
            $log = $logs[$victim];
            unset($logs[$victim]);
            $logs[start($log, $bucket)] = $log;
        }
        usleep(1000);
    }
    $text = implode('', array_map(file_get_contents(...), $all));
    $left = $bucket()->peek()->remaining;
    return ['calls' => substr_count($text, '('), 'granted' => substr_count($text, 'g'), 'unanswered' => preg_match_all('/\((?![gd])/', $text), 'kills' => $kills, 'left' => $left];
}

echo "-- without kills --\n";
['calls' => $calls, 'granted' => $granted, 'left' => $left] = run(null, bucket(...));
print_values($calls, $granted, $left);
foreach (['a bucket' => bucket(...), 'a quota' => quota(...)] as $name => $make) {
    echo "-- $name, with kills --\n";
    $run = run(2_000, $make);
    print_values($run['calls'], $run['left'], $run['kills'] >= 10);
    // A call without an answer may have taken its token, and no other token is missing.
    $missing = CAPACITY - $run['granted'];
    check($missing >= 0 && $missing <= $run['unanswered'] && $run['unanswered'] <= $run['kills'], json_encode($run));
}
?>
--EXPECT--
-- without kills --
16000 6000 0.0
-- a bucket, with kills --
16000 0.0 true
-- a quota, with kills --
16000 0.0 true
