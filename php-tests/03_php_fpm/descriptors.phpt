--TEST--
Under php-fpm: programs that workers execute do not inherit the shared memory
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

/** Returns as text whether a process has a descriptor and a mapping of the segment. */
function holds(string $process): string
{
    $links = array_map(fn ($link) => (string) @readlink($link), glob("$process/fd/*"));
    $descriptor = preg_grep('/^\/memfd:/', $links) !== [];
    $mapping = str_contains((string) file_get_contents("$process/maps"), '/memfd:');
    return ($descriptor ? 'descriptor' : 'no descriptor') . ', ' . ($mapping ? 'mapping' : 'no mapping');
}

foreach (['in the foreground' => false, 'as a daemon' => true] as $how => $daemon) {
    // Without process.dumpable the kernel would not let the workers read their own files in /proc.
    $fpm = new Fpm(['www' => ['pm.max_children' => 1, 'process.dumpable' => 'yes']], daemon: $daemon);
    $execute = $fpm->script('execute', <<<'PHP'
        <?php
        $look = 'ls -l /proc/self/fd; cat /proc/self/maps';
        $process = proc_open($look, [1 => ['pipe', 'w']], $pipes);
        echo stream_get_contents($pipes[1]), shell_exec($look), stream_get_contents(popen($look, 'r'));
        PHP);
    for ($reloads = 0; $reloads <= 2; $reloads++) {
        $seen = $fpm->get($execute);
        check(substr_count($seen, '/proc/') >= 3 && substr_count($seen, '[stack]') === 3, "programs ran: $seen");
        echo "$how, $reloads reloads: worker has ", holds('/proc/' . $fpm->workers()[0]),
            '; programs have ', str_contains($seen, 'memfd') ? "it:\n$seen" : "neither\n";
        $fpm->reload();
    }
    $fpm->stop();
}
?>
--EXPECT--
in the foreground, 0 reloads: worker has descriptor, mapping; programs have neither
in the foreground, 1 reloads: worker has descriptor, mapping; programs have neither
in the foreground, 2 reloads: worker has descriptor, mapping; programs have neither
as a daemon, 0 reloads: worker has descriptor, mapping; programs have neither
as a daemon, 1 reloads: worker has descriptor, mapping; programs have neither
as a daemon, 2 reloads: worker has descriptor, mapping; programs have neither
