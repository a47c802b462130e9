--TEST--
Links, other owners and modes, and network file systems are refused, and nothing is decided
--FILE--
<?php
require __DIR__ . '/../../../tools/testkit/php/check.php';

use TokenBucket\Polyfill\Folder;
use TokenBucket\Polyfill\Process;
use TokenBucket\Polyfill\Settings;

$parent = new_folder();
$folder = "$parent/folder";
/** Prints the error of a call after a change of the folder, and undoes the change. */
$refused = function (string $title, callable $change) use ($parent, $folder): void {
    mkdir($folder, 0700);
    Settings::$folder = $folder;
    $change("$folder/" . Settings::file());
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 1, 1);
    echo "$title: ", preg_replace('/^.*? it (.*?)\. Set tokenbucket.polyfill_folder .*$/', '$1', thrown(fn () => $bucket->consume())), "\n";
    // Not removed yet: this process does not check a file again that has the same inode.
    rename($folder, "$parent/used-" . bin2hex(random_bytes(4)));
    clearstatcache();
};
$is_root = Process::user() === 0;

$refused('folder of mode 0755', fn () => chmod($folder, 0755));
$refused('folder of mode 01777', fn () => chmod($folder, 01777));
$refused('link to a folder', fn () => rename($folder, "$parent/other") && symlink("$parent/other", $folder));
rmdir("$parent/other");
$refused('dangling link', fn () => rmdir($folder) && symlink("$parent/nothing", $folder));
$refused('a file instead of a folder', fn () => rmdir($folder) && touch($folder));
$refused('link to a file', fn (string $file) => touch("$parent/victim") && symlink("$parent/victim", $file));
$refused('file with two names', fn (string $file) => touch($file) && link($file, "$parent/second"));
$refused('a folder instead of the file', fn (string $file) => mkdir($file));
$refused('a pipe instead of the file', fn (string $file) => exec('mkfifo ' . escapeshellarg($file)));
$refused('a damaged file', fn (string $file) => file_put_contents($file, str_repeat('x', 10_000)));
check(file_get_contents("$parent/victim") === '', 'the target of a link is written');
if ($is_root) {
    $refused('folder of another user', fn () => chown($folder, 65534));
    $refused('file of another user', fn (string $file) => touch($file) && chown($file, 65534));
} else {
    echo "folder of another user: belongs to user 65534, not to user 0\nfile of another user: belongs to user 65534, not to user 0\n";
}
echo "-- a folder whose name is taken --\n";
mkdir("$parent/taken", 0700);
$taken = !$is_root || chown("$parent/taken", 65534);
$other = $is_root ? Folder::ofUser("$parent/taken") : "$parent/taken-";
check(str_starts_with($other, "$parent/taken-"), $other);
rmdir("$parent/taken");
check(!$is_root || Folder::ofUser("$parent/taken") === $other, 'the folder stays when the name is free again');
@rmdir($other);
foreach (['file' => touch(...), 'wide' => fn (string $path) => mkdir($path, 0777) && chmod($path, 0777), 'link' => fn (string $path) => symlink($parent, $path)] as $kind => $make) {
    $make("$parent/$kind");
    $other = Folder::ofUser("$parent/$kind");
    check(str_starts_with($other, "$parent/$kind-") && Folder::ofUser("$parent/$kind") === $other, "$kind: $other");
    @rmdir($other);
}
rmdir("$parent/wide");
array_map(unlink(...), ["$parent/file", "$parent/link"]);
check(Folder::ofUser("$parent/free") === "$parent/free", 'control: a free name');

echo "-- an error handler that throws --\n";
set_error_handler(fn (int $level, string $message) => throw new ErrorException($message));
Settings::$folder = "$parent/missing/folder";
echo substr(thrown(fn () => (new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 1, 1))->consume()), 0, 28), "\n";
restore_error_handler();
Settings::$folder = sys_get_temp_dir();
echo 'bare /tmp: ', substr(thrown(fn () => (new TokenBucket(new TokenBucketStorageSharedMemory, 'x', 1, 1))->consume()), 0, 28), "\n";
check(glob(sys_get_temp_dir() . '/' . Settings::file()) === [], 'a file in /tmp');

echo "-- file systems --\n";
$mounts = "rootfs / rootfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\ntmpfs /home/local tmpfs rw 0 0\n"
    . "//server/share /mnt/my\\040share cifs rw 0 0\nremote: /mnt/remote fuse.sshfs rw 0 0\n/dev/sdb1 /mnt/usb fuseblk rw 0 0\n"
    . "overlay /mnt/container overlay rw 0 0\nx /mnt/twice nfs rw 0 0\ny /mnt/twice ext4 rw 0 0\n";
foreach (['/tmp/a', '/home/a', '/homes', '/home/local/a', '/mnt/my share/a', '/mnt/remote', '/mnt/usb/a', '/mnt/container/a', '/mnt/twice/a'] as $path) {
    echo "$path: ", Folder::isOnNetwork($path, $mounts) ? 'refused ' : 'used ', Folder::fileSystem($path, $mounts), "\n";
}
check(Folder::fileSystem('/tmp', '') === '', 'no mounts are known');
array_map(unlink(...), ["$parent/victim", "$parent/second"]);
exec('rm -rf ' . escapeshellarg("$parent/used-") . '*');
?>
--EXPECTF--
folder of mode 0755: has the mode 0755 instead of 0700
folder of mode 01777: has the mode 1777 instead of 0700
link to a folder: is a symbolic link
dangling link: is a symbolic link
a file instead of a folder: is not a folder
link to a file: is a symbolic link
file with two names: has several names
a folder instead of the file: is not a file
a pipe instead of the file: is not a file
a damaged file: TokenBucket\StorageException: tokenbucket/polyfill: %s is damaged or of another version. Remove it to start with full buckets
folder of another user: belongs to user 65534, not to user 0
file of another user: belongs to user 65534, not to user 0
-- a folder whose name is taken --
-- an error handler that throws --
TokenBucket\StorageException
bare /tmp: TokenBucket\StorageException
-- file systems --
/tmp/a: used ext4
/home/a: refused nfs4
/homes: used ext4
/home/local/a: used tmpfs
/mnt/my share/a: refused cifs
/mnt/remote: refused fuse.sshfs
/mnt/usb/a: used fuseblk
/mnt/container/a: used overlay
/mnt/twice/a: used ext4
