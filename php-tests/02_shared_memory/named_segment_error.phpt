--TEST--
An invalid named segment causes a warning and a private segment, and the file stays unchanged
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$folder = temporary_folder();
$path = "$folder/segment";
$ini = ['tokenbucket.shm_path' => $path, 'tokenbucket.shm_size' => '64K'];
$code = <<<'PHP'
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "x", 5, 0.001);
$memory = TokenBucket\status()["shared_memory"];
echo json_encode([$bucket->consume(2), $bucket->peek()->remaining, $memory["backing"]]), "\n";
PHP;
/** The other reasons are in crates/segment/tests/segment/refused.rs. */
$try = function (string $name, array $more = []) use ($ini, $code, $folder): void {
    $more += $ini;
    $path = $more['tokenbucket.shm_path'];
    clearstatcache();
    $before = is_file($path) ? [hash_file('sha256', $path), fileperms($path), fileinode($path)] : null;
    $output = trim(str_replace($folder, 'FOLDER', php_run($code, $more)));
    echo "== $name\n", str_replace(' in Unknown on line 0', '', $output), "\n";
    clearstatcache();
    $after = is_file($path) ? [hash_file('sha256', $path), fileperms($path), fileinode($path)] : null;
    check($before === $after, 'the file was changed');
};

php_run($code, $ini);
$whole = file_get_contents($path);

$try('diagnostics or not is another layout', ['tokenbucket.track_identifiers' => '1']);
chmod($path, 0666);
$try('others may write');
chmod($path, 0600);
file_put_contents($path, substr_replace($whole, pack('P', 99), 8, 8));
$try('another layout version');
$try('no such folder', ['tokenbucket.shm_path' => "$folder/x/segment"]);
file_put_contents($path, $whole);
echo "== the valid segment again\n", php_run($code, $ini);
?>
--EXPECTF--
== diagnostics or not is another layout
Warning: tokenbucket: the segment FOLDER/segment is refused (made with another track_identifiers); using private shared memory instead
[true,3,"memfd"]
== others may write
Warning: tokenbucket: the segment FOLDER/segment is refused (mode 0666 lets every user write); using private shared memory instead
[true,3,"memfd"]
== another layout version
Warning: tokenbucket: the segment FOLDER/segment is refused (layout version 99 instead of %d); using private shared memory instead
[true,3,"memfd"]
== no such folder
Warning: tokenbucket: the segment FOLDER/x/segment is refused (its folder is missing); using private shared memory instead
[true,3,"memfd"]
== the valid segment again
[true,1,"named"]
