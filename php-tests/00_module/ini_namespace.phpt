--TEST--
INI: tokenbucket.namespace separates the buckets of one segment
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/child.php';

$segment = temporary_folder() . '/segment';
$code = <<<'PHP'
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "shared", 2, 0.001);
$other = new TokenBucket(new TokenBucketStorageSharedMemory("explicit"), "shared", 2, 0.001);
echo TokenBucket\status()["shared_memory"]["backing"], ": ",
    json_encode([$bucket->consume(), $bucket->peek()->remaining, $other->consume(), $other->peek()->remaining]), "\n";
PHP;
foreach (['', 'shop', '', 'shop', 'forum', '', 'shop'] as $namespace) {
    printf("%-5s %s", $namespace, php_run($code, [
        'tokenbucket.shm_path' => $segment,
        'tokenbucket.shm_size' => '64K',
        'tokenbucket.namespace' => $namespace,
    ]));
}
?>
--EXPECT--
      named: [true,1,true,1]
shop  named: [true,1,true,1]
      named: [true,0,true,0]
shop  named: [true,0,true,0]
forum named: [true,1,true,1]
      named: [false,0,false,0]
shop  named: [false,0,false,0]
