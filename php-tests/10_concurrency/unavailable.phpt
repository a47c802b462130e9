--TEST--
A process that cannot hold permits is denied, and status() states the cause
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/strace.php';
if (is_slow() || !has_strace()) {
    die('skip needs strace, without valgrind');
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/child.php';
require __DIR__ . '/../../tools/testkit/php/strace.php';

$code = <<<'PHP'
    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 2);
    $permit = $limit->acquire(1000);
    $decision = $permit->decision;
    $status = TokenBucket\status();
    echo $status['shared_memory']['backing'], ' ', json_encode($decision), ' ', json_encode([$permit->renew(), $limit->held()]), "\n";
    unset($status['permits']['denied']);
    echo json_encode($status['permits']), "\n";
    PHP;
echo "-- the control: a process that can --\n";
echo php_run($code);
// Refuses the call of fcntl() that locks the number of the process, and all later calls, in the
// same way as a security module. Earlier calls of fcntl() have other reasons and must succeed.
$calls = preg_grep('/^fcntl\(/', explode("\n", php_traced($code, 'fcntl')));
$lock = array_search(1, array_map(fn (string $call) => preg_match('/F_SETLK, .*l_start=4611686/', $call), array_values($calls))) + 1;
$run = function (string $fault) use ($code): void {
    echo '-- ', preg_replace('/when=\d+/', 'when=N', $fault), " --\n";
    $strace = 'strace -f -qq -o /dev/null -e trace=memfd_create,fcntl -e inject=' . escapeshellarg($fault);
    echo shell_exec("$strace " . php_command() . ' -r ' . escapeshellarg($code) . ' 2>&1');
};
$run('memfd_create:error=ENOSYS');
$run("fcntl:error=ENOLCK:when=$lock+");
$run("fcntl:error=EACCES:when=$lock+");
?>
--EXPECT--
-- the control: a process that can --
memfd {"allowed":true,"remaining":1,"capacity":2,"retryAfter":0,"resetAfter":0,"reason":"granted","fallback":false,"refusedBy":null,"unit":"concurrent-requests"} [true,1]
{"held":1,"taken_back":0,"foreign":0,"unavailable":null}
-- memfd_create:error=ENOSYS --
anonymous {"allowed":false,"remaining":0,"capacity":2,"retryAfter":1,"resetAfter":0,"reason":"unavailable","fallback":false,"refusedBy":null,"unit":"concurrent-requests"} [false,0]
{"held":0,"taken_back":0,"foreign":0,"unavailable":"the shared memory has no file, because memfd is not available"}
-- fcntl:error=ENOLCK:when=N+ --
memfd {"allowed":false,"remaining":0,"capacity":2,"retryAfter":1,"resetAfter":0,"reason":"unavailable","fallback":false,"refusedBy":null,"unit":"concurrent-requests"} [false,0]
{"held":0,"taken_back":0,"foreign":0,"unavailable":"fcntl(F_SETLK): No locks available (os error 37)"}
-- fcntl:error=EACCES:when=N+ --
memfd {"allowed":false,"remaining":0,"capacity":2,"retryAfter":1,"resetAfter":0,"reason":"unavailable","fallback":false,"refusedBy":null,"unit":"concurrent-requests"} [false,0]
{"held":0,"taken_back":0,"foreign":0,"unavailable":"fcntl(F_SETLK): Permission denied (os error 13)"}
