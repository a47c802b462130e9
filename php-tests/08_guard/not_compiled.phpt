--TEST--
The guard: the script of a denied request is neither opened nor compiled
--EXTENSIONS--
opcache
--SKIPIF--
<?php
require __DIR__ . '/skipif.inc.php';
exec('strace -f -o /dev/null true 2>&1', $output, $code);
$code === 0 || die('skip strace cannot trace processes here');
?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

/** Runs $work while strace traces the opened files of a process. Returns their paths. */
function opened(int $process, callable $work): string
{
    $trace = tempnam(sys_get_temp_dir(), 'tokenbucket-trace-');
    $strace = proc_open(['strace', '-p', (string) $process, '-e', 'trace=open,openat,read', '-o', $trace], [2 => ['pipe', 'w']], $pipes);
    // strace prints a line when it is attached.
    fgets($pipes[2]);
    $work();
    proc_terminate($strace, 2);
    proc_close($strace);
    $text = file_get_contents($trace);
    unlink($trace);
    return $text;
}

/** Prints whether the script was opened and compiled for a request. */
function observe(Fpm $fpm, string $what, string $script): void
{
    $compiled = function () use ($fpm, $script): array {
        $path = $fpm->script('status', '<?php $of = opcache_get_status()["scripts"] ?? []; echo json_encode($of[$_GET["script"]]["hits"] ?? null);');
        return [json_decode($fpm->request($path, ['REMOTE_ADDR' => '', 'QUERY_STRING' => "script=$script"])['body'])];
    };
    $before = $compiled();
    $trace = opened($fpm->workers()[0], fn () => print $what . ': ' . $fpm->request($script, ['REMOTE_ADDR' => '192.0.2.1'])['status']);
    $after = $compiled();
    echo preg_match('/^open.*' . basename($script) . '/m', $trace) ? ', opened' : ', not opened';
    echo str_contains($trace, '<?php echo') ? ', read' : ', not read';
    echo match (true) {
        $before === $after => ", not used by opcache\n",
        $before === [null] => ", compiled\n",
        default => ", used from opcache\n",
    };
}

foreach (['off' => '', 'on' => 'ip 1/day'] as $guard => $limits) {
    foreach (['opcache' => '1', 'no opcache' => '0'] as $how => $opcache) {
        $fpm = new Fpm(['www' => ['pm.max_children' => 1]], ['tokenbucket.guard' => $limits, 'opcache.enable' => $opcache, 'opcache.file_update_protection' => '0']);
        echo "== guard $guard, $how\n";
        $script = $fpm->script('script', SCRIPT);
        observe($fpm, 'first request', $script);
        observe($fpm, 'second request', $script);
        $other = $fpm->script('other', SCRIPT);
        observe($fpm, 'first request of another script', $other);
        $fpm->stop();
    }
}
?>
--EXPECT--
== guard off, opcache
first request: 200, opened, read, compiled
second request: 200, not opened, not read, used from opcache
first request of another script: 200, opened, read, compiled
== guard off, no opcache
first request: 200, opened, read, not used by opcache
second request: 200, opened, read, not used by opcache
first request of another script: 200, opened, read, not used by opcache
== guard on, opcache
first request: 200, opened, read, compiled
second request: 429, not opened, not read, not used by opcache
first request of another script: 429, opened, not read, not used by opcache
== guard on, no opcache
first request: 200, opened, read, not used by opcache
second request: 429, opened, not read, not used by opcache
first request of another script: 429, opened, not read, not used by opcache
