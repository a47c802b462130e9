--TEST--
Separately started processes share a named segment, at the same time or in turn
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$folder = temporary_folder();
$ini = ['tokenbucket.shm_path' => "$folder/segment", 'tokenbucket.shm_size' => '64K'];
$code = <<<'PHP'
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "x", 5, 0.001);
$memory = TokenBucket\status()["shared_memory"];
echo json_encode([$bucket->consume(2), $bucket->peek()->remaining, $memory["backing"], basename($memory["path"])]), "\n";
PHP;
for ($i = 0; $i < 3; $i++) {
    echo php_run($code, $ini);
}
clearstatcache();
printf("%04o %s\n", fileperms("$folder/segment") & 07777, json_encode(scandir($folder)));
check(filesize("$folder/segment") >= 65536, 'size');

echo "-- eight processes at once, of which the first creates the segment --\n";
$ini['tokenbucket.shm_path'] = "$folder/race";
$code = 'while (microtime(true) < $argv[1]); $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "x", 1000, 0.001);'
    . ' $granted = 0; for ($i = 0; $i < 500; $i++) $granted += (int) $bucket->consume(); echo $granted;';
$start = microtime(true) + 0.3;
$processes = [];
for ($i = 0; $i < 8; $i++) {
    $processes[] = popen(php_command($ini) . ' -r ' . escapeshellarg($code) . " -- $start 2>&1", 'r');
}
var_dump(array_sum(array_map('stream_get_contents', $processes)));
array_map('pclose', $processes);

echo "-- another mode and a group --\n";
$ini = ['tokenbucket.shm_path' => "$folder/group", 'tokenbucket.shm_mode' => '0660', 'tokenbucket.shm_group' => (string) filegroup($folder)] + $ini;
echo php_run('echo TokenBucket\status()["shared_memory"]["backing"], "\n";', $ini);
printf("%04o\n", fileperms("$folder/group") & 07777);
var_dump(filegroup("$folder/group") === filegroup($folder));
?>
--EXPECT--
[true,3,"named","segment"]
[true,1,"named","segment"]
[false,1,"named","segment"]
0600 [".","..","segment"]
-- eight processes at once, of which the first creates the segment --
int(1000)
-- another mode and a group --
named
0660
bool(true)
