--TEST--
The guard: the mode "observe" denies nothing, counts, and logs a line a minute
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

foreach (['enforce', 'observe'] as $mode) {
    $log = log_file();
    $fpm = new Fpm(ini: ['error_log' => $log, 'tokenbucket.guard' => 'ip 1/day burst 3; ip+path 1/day burst 2', 'tokenbucket.guard_mode' => $mode]);
    $script = $fpm->script('script', SCRIPT);
    echo "== $mode\n", statuses($fpm, $script, ...array_fill(0, 10, ['REMOTE_ADDR' => '192.0.2.1'])), "\n";
    foreach (['guard: ip 1/day burst 3', 'guard: ip+path 1/day burst 2', 'guard: no address'] as $row) {
        echo "$row: ", json_encode(decisions($fpm, $row)), "\n";
    }
    echo preg_replace('/^\[.*?\] /m', '', file_get_contents($log));
    $fpm->stop();
}
?>
--EXPECT--
== enforce
200 200 429 429 429 429 429 429 429 429
guard: ip 1/day burst 3: {"granted":2,"denied":0}
guard: ip+path 1/day burst 2: {"granted":2,"denied":8}
guard: no address: {"granted":3,"denied":0}
== observe
200 200 200 200 200 200 200 200 200 200
guard: ip 1/day burst 3: {"granted":3,"denied":7}
guard: ip+path 1/day burst 2: {"granted":2,"denied":8}
guard: no address: {"granted":3,"denied":0}
tokenbucket: guard: 192.0.2.1 exceeds "ip+path 1/day burst 2" and would be denied in the mode "enforce"
tokenbucket: guard: 192.0.2.1 exceeds "ip 1/day burst 3" and would be denied in the mode "enforce"
