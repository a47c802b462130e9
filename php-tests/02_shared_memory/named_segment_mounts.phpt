--TEST--
A named segment: a sparse copy on a full file system is refused, and a hidden boot ID is named
--SKIPIF--
<?php
exec('unshare --mount --pid --fork mount -t tmpfs tmpfs /mnt 2>&1', $output, $code);
$code === 0 || die('skip there are no mounts of a test\'s own: ' . implode(' ', $output));
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

$folder = temporary_folder();
chmod($folder, 0755);
file_put_contents("$folder/consume.php", <<<'PHP'
    <?php
    // Takes tokens in all of the table, so that no page stays unwritten.
    for ($i = 0; $i < 20_000; $i++) {
        (new TokenBucket(new TokenBucketStorageSharedMemory, "client $i", 1, 0.001))->consume();
    }
    echo TokenBucket\status()['shared_memory']['backing'], "\n";
    PHP);
$php = fn (string $segment): string => php_command(['tokenbucket.shm_path' => $segment, 'tokenbucket.shm_size' => '1M']) . " -f $folder/consume.php";

/** Runs a script in a mount namespace, and prints its output and the signal that killed it. */
$run = function (string $what, string $script) use ($folder): void {
    exec('unshare --mount --pid --fork --kill-child sh -c ' . escapeshellarg("$script; echo exit \$?") . ' 2>&1', $lines);
    echo "== $what\n", str_replace($folder, 'folder', implode("\n", array_filter($lines, strlen(...)))), "\n";
};

// A segment that a process has created, but hardly written to.
$ini = ['tokenbucket.shm_path' => "$folder/unused", 'tokenbucket.shm_size' => '1M'];
exec(php_command($ini) . ' -r ""');
$mount = "mount -t tmpfs -o size=8M,mode=755 tmpfs /mnt && cp --sparse=always $folder/unused /mnt/segment";
$fill = '(head -c 8M /dev/zero >/mnt/full || true) 2>/dev/null';
$run('a sparse copy', "$mount && " . $php('/mnt/segment'));
$run('a sparse copy on a full file system', "$mount && $fill && " . $php('/mnt/segment'));

exec($php("$folder/segment"));
// As systemd's ProcSubset=pid.
$hidden = 'mount -t proc -o subset=pid proc /proc';
$run('a hidden boot ID', "$hidden && " . $php("$folder/segment"));
$run('a hidden boot ID at its creator', "$hidden && " . $php("$folder/hidden"));
$run('and not at another process', $php("$folder/hidden"));
?>
--EXPECT--
== a sparse copy
named
exit 0
== a sparse copy on a full file system
Warning: tokenbucket: the segment /mnt/segment is refused (allocating its pages: No space left on device (os error 28)); using private shared memory instead in Unknown on line 0
memfd
exit 0
== a hidden boot ID
Warning: tokenbucket: the segment folder/segment is refused (/proc/sys shows the boot ID only to this process or to its creator (ProcSubset=pid)); using private shared memory instead in Unknown on line 0
memfd
exit 0
== a hidden boot ID at its creator
named
exit 0
== and not at another process
Warning: tokenbucket: the segment folder/hidden is refused (/proc/sys shows the boot ID only to this process or to its creator (ProcSubset=pid)); using private shared memory instead in Unknown on line 0
memfd
exit 0
