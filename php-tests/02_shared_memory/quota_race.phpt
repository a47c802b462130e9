--TEST--
Eight processes at the end of a quota's window get the limit of each window in shared memory
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/quota_race.php';

check_race_of_windows('shared memory', fn () => new TokenBucketStorageSharedMemory, 50);
echo "done\n";
?>
--EXPECT--
done
