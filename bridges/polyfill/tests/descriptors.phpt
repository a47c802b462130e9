--TEST--
acquire() throws a StorageException if the process has no file descriptor left
--FILE--
<?php
require __DIR__ . '/../../../tools/testkit/php/testkit.php';

$folder = new_folder();
file_put_contents("$folder/permits.php", '<?php require ' . var_export(realpath(__DIR__ . '/../src/autoload.php'), true) . ';' . <<<'PHP'

    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1024);
    $permits = [];
    try {
        while (true) {
            $permits[] = $limit->acquire();
        }
    } catch (Throwable $e) {
        $count = count($permits);
        $permits = [];
    }
    echo $count > 20 ? 'many' : $count, ' ', get_class($e), ' ', strstr($e->getMessage(), 'Too many'), "\n";
    var_dump($limit->acquire()->decision->allowed);
    PHP);
passthru('ulimit -S -n 64; ' . escapeshellarg(PHP_BINARY) . " -n $folder/permits.php");
?>
--EXPECT--
many TokenBucket\StorageException Too many open files
bool(true)
