--TEST--
Storage contract: memory of one process, and memory shared by processes
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/contract.php';

$memory = new TokenBucketStorageMemory;
(new Contract('memory', $memory, $memory->advance(...)))->check();
$sleep = fn (float $seconds) => usleep((int) ceil($seconds * 1e6));
(new Contract('shared memory', new TokenBucketStorageSharedMemory, $sleep))->check();

echo "-- the control: a storage that always grants --\n";
$wrong = new class extends ArrayStorage {
    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        return true;
    }
};
ob_start();
try {
    (new Contract('wrong', $wrong, $sleep))->check();
} catch (LogicException) {
}
echo substr_count(ob_get_clean(), 'FAILED') > 10 ? 'found' : 'missed', "\n";
?>
--EXPECT--
-- the control: a storage that always grants --
found
