--TEST--
The stub file declares what the extension declares
--FILE--
<?php
require __DIR__ . '/../child.inc.php';

$extension = php_run_file(__DIR__ . '/reflection.inc.php', [], 'extension tokenbucket');
$stub = php_run_bare(__DIR__ . '/reflection.inc.php', 'file ' . escapeshellarg(dirname(__DIR__, 2) . '/stubs/tokenbucket.stub.php'));
$declared = json_decode($extension, true);
if ($declared === null || json_decode($stub, true) === null) {
    exit("No JSON: $extension$stub");
}
echo implode("\n", array_keys($declared['classes'])), "\n";
echo implode("\n", array_keys($declared['functions'])), "\n";

$extension = explode("\n", $extension);
$stub = explode("\n", $stub);
if ($extension === $stub) {
    exit("Equal.\n");
}
foreach ($extension as $number => $line) {
    if ($line !== ($stub[$number] ?? null)) {
        echo "First difference, line $number:\n";
        foreach (['extension' => $extension, 'stub' => $stub] as $side => $lines) {
            echo "$side:\n", implode("\n", array_slice($lines, max(0, $number - 12), 20)), "\n";
        }
        break;
    }
}
?>
--EXPECT--
TokenBucket
TokenBucketStorage
TokenBucketStorageMemcached
TokenBucketStorageMemory
TokenBucketStoragePDO
TokenBucketStoragePDOMySQL
TokenBucketStorageRedis
TokenBucketStorageSharedMemory
TokenBucket\Compat\ClientThrottle
TokenBucket\Compat\LeakyBucket
TokenBucket\Compat\MinuteWindow
TokenBucket\Compat\RateExceededException
TokenBucket\Compat\RateLimiter
TokenBucket\Decision
TokenBucket\Exception
TokenBucket\OnFailure
TokenBucket\StorageException
TokenBucket\status
Equal.
