--TEST--
Behind nginx: while workers are killed, the holders never exceed the limit, and no permit is lost
--SKIPIF--
<?php
require __DIR__ . '/../03_php_fpm/skipif.inc.php';
exec('command -v nginx', $path, $missing);
$missing && die('skip there is no nginx');
?>
--INI--
opcache.jit=disable
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/fpm.php';
require __DIR__ . '/../../tools/testkit/php/nginx.php';

const LIMIT = 3;
const KILLS = 60;
const CLIENTS = 12;

$fpm = new Fpm(['www' => ['pm.max_children' => 8, 'listen.mode' => '0666'], 'look' => ['pm.max_children' => 1]]);
$nginx = new Nginx($fpm);
$log = "$fpm->folder/log";
touch($log);
chmod($log, 0666);
$over = "$fpm->folder/over";
$fpm->script('work', <<<'PHP'
    <?php
    $log = fopen($_GET['log'], 'a');
    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', (int) $_GET['limit']);
    $permit = $limit->acquire(5.0);
    if ($permit->decision->allowed) {
        fwrite($log, '+ ' . getmypid() . "\n");
        usleep(mt_rand(0, 3000));
        fwrite($log, '- ' . getmypid() . "\n");
        $permit->release();
    }
    fwrite($log, $permit->decision->reason . " 0\n");
    PHP);
$look = $fpm->script('look', <<<'PHP'
    <?php
    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', (int) $_GET['limit']);
    for ($permits = []; ($permit = $limit->acquire())->decision->allowed;) {
        $permits[] = $permit;
    }
    $all = TokenBucket\status()['permits'];
    echo json_encode([count($permits), $permit->decision->reason, $all['held'], $all['foreign']]);
    PHP);

$target = "http://127.0.0.1:$nginx->port/work?" . http_build_query(['log' => $log, 'limit' => LIMIT]);
in_processes(1 + CLIENTS, function (int $index) use ($fpm, $target, $log, $over) {
    if ($index > 0) {
        while (!file_exists($over)) {
            // nginx answers with an error if the worker was killed.
            @file_get_contents($target);
            clearstatcache();
        }
        return;
    }
    $file = fopen($log, 'a');
    for ($kills = $size = 0; $kills < KILLS;) {
        usleep(10_000);
        clearstatcache();
        // On a busy machine, waits until the workers have taken more permits.
        if (filesize($log) < $size) {
            continue;
        }
        $workers = array_values(array_diff($fpm->workers(), [getmypid()]));
        if ($workers !== []) {
            // Logs the kill first, because the permit is free right after it. So the log never
            // shows too many holders.
            $worker = $workers[array_rand($workers)];
            fwrite($file, "k $worker\n");
            send_signal('KILL', $worker);
            $kills++;
            $size = filesize($log) + 100;
        }
    }
    touch($over);
});

/** Returns the most permits that were held at once, according to the log. */
$most = function (bool $with_kills) use ($log): int {
    $held = $killed = [];
    $most = 0;
    foreach (file($log) as $line) {
        [$what, $pid] = explode(' ', trim($line));
        match ($what) {
            '+' => $held[$pid] = true,
            'k' => $killed[$pid] = true,
            default => null,
        };
        if ($what === '-' || $with_kills && isset($killed[$pid])) {
            unset($held[$pid]);
        }
        $most = max($most, count($held));
    }
    return $most;
};
$reasons = array_count_values(array_map('trim', preg_grep('/^\w{4,}/', file($log))));
check($most(true) <= LIMIT, $most(true) . ' were held at once');
// Control: if the kills are ignored, the log shows that dead workers still hold permits.
check($most(false) > LIMIT, 'killed workers have held permits');
check(($reasons['granted 0'] ?? 0) > KILLS, json_encode($reasons));
check(1_000 * ($reasons['contended 0'] ?? 0) <= array_sum($reasons), json_encode($reasons));
check(!isset($reasons['table_full 0']) && !isset($reasons['unavailable 0']), json_encode($reasons));
wait_for('the last requests have ended', fn () => $fpm->get($look, ['limit' => LIMIT], 'look') === '[3,"too_many_concurrent",3,0]');
$fpm->stop();
echo "Done.\n";
?>
--EXPECT--
Done.
