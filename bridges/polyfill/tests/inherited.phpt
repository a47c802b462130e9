--TEST--
The programs and forked children of a killed process keep neither its lock nor its permits
--EXTENSIONS--
pcntl
--FILE--
<?php
use TokenBucket\ConcurrencyLimit;
use TokenBucket\Polyfill\FileStore;
use TokenBucket\Polyfill\Settings;

require __DIR__ . '/../../../tools/testkit/php/check.php';

Settings::$folder = new_folder();
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 10, 1e-5);
$limit = new ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1);
/** Runs $work in a process that then kills itself, and waits for its end. */
function killed(callable $work): void
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        $work();
        exec('kill -9 ' . getmypid());
    }
    pcntl_waitpid($pid, $status);
    check(pcntl_wifsignaled($status), 'the process was killed');
}
$sleepers = Settings::$folder . '/sleepers';
/** Starts a child that outlives its parent, and does not use the package. */
$child = function () use ($sleepers): void {
    $pid = pcntl_fork();
    if ($pid === 0) {
        sleep(60);
        exec('kill -9 ' . getmypid());
    }
    file_put_contents($sleepers, "$pid ", FILE_APPEND);
};
/** Starts a program that outlives this process. */
$program = function () use ($sleepers): void {
    static $programs = [];
    $programs[] = $program = proc_open(['sleep', '60'], [], $pipes);
    file_put_contents($sleepers, proc_get_status($program)['pid'] . ' ', FILE_APPEND);
};
// A lock that is never free ends the test here.
pcntl_alarm(50);

killed(function () use ($bucket, $child, $program) {
    $bucket->consume();
    $child();
    FileStore::ofApplication()->together(function () use ($program) {
        $program();
        exec('kill -9 ' . getmypid());
    });
});
print_values($bucket->consume());
killed(function () use ($limit, $child, $program) {
    $permit = $limit->acquire();
    check($permit->decision->allowed, 'the permit is free');
    $child();
    $program();
    exec('kill -9 ' . getmypid());
});
print_values($limit->held(), $limit->acquire()->decision->allowed);
exec('kill -9 ' . file_get_contents($sleepers));
?>
--EXPECT--
true
0 true
