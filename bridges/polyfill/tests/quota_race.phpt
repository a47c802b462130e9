--TEST--
Eight processes at the end of a quota's window get the limit of each window
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../../tools/testkit/php/quota_race.php';

foreach ([1, 50, 3000] as $limit) {
    check_race_of_windows("a limit of $limit", fn () => new TokenBucketStorageSharedMemory, $limit);
}
echo "done\n";
?>
--EXPECT--
done
