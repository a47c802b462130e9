<?php
/**
 * Runs the scenarios of this folder in threads.
 *
 *   php run.php HOST MODULE TIMES             each scenario must pass TIMES times
 *   php run.php HOST MODULE TIMES control     MODULE counts and keeps settings by process, so the
 *                                             scenarios that need threads must fail
 *
 * Prints lines "PASS …" and "FAIL …".
 */
require __DIR__ . '/../php/servers.php';

[, $host, $module, $times] = $argv;
$control = ($argv[4] ?? '') === 'control';
$folder = sys_get_temp_dir() . '/tokenbucket-threads-' . getmypid();
mkdir($folder);
register_shutdown_function(fn () => exec('rm -rf ' . escapeshellarg($folder)));

// The name, the file, and the environment.
$scenarios = [
    ['16 threads', 'totals', ['THREADS' => 16, 'REQUESTS' => 100]],
    ['more threads than shards', 'totals', ['THREADS' => 200, 'REQUESTS' => 8]],
    ['namespaces', 'namespaces', []],
];
if (!$control) {
    $redis = RedisServer::start();
    $memcached = MemcachedServer::startUnix();
    $stores = ['REDIS' => $redis->socket, 'MEMCACHED' => $memcached->socket];
    array_push(
        $scenarios,
        ['Redis and memcached', 'remote', $stores],
        ['SQLite', 'pdo', []],
        ['threads end', 'lives', []],
        ['worker mode', 'worker_mode', []],
        ['a thread forks', 'fork', $stores],
        ['PHP starts again', 'starts', []],
    );
}

foreach ($scenarios as [$name, $file, $environment]) {
    for ($passed = $time = 0; $time < $times; $time++) {
        array_map(unlink(...), glob("$folder/*"));
        $words = ['timeout', '120', $host, $folder, __DIR__ . "/$file.php", "extension=$module", 'extension=pdo', 'extension=pdo_sqlite'];
        $assignments = '';
        foreach ($environment + ['PREFIX' => $time] as $variable => $value) {
            $assignments .= "$variable=" . escapeshellarg($value) . ' ';
        }
        exec($assignments . implode(' ', array_map(escapeshellarg(...), $words)) . ' 2>&1', $output, $code);
        $as_expected = preg_match('/^(done\n)+$/D', implode("\n", $output) . "\n") === 1 && $code === 0;
        $passed += (int) $as_expected;
        if (!$as_expected && !$control) {
            echo implode("\n", array_slice($output, 0, 20)), "\nexit code $code\n";
        }
        $output = [];
    }
    $is_right = $passed === ($control ? 0 : (int) $times);
    $failed = ($failed ?? false) || !$is_right;
    echo $is_right ? 'PASS ' : 'FAIL ', $control ? 'control, ' : '', "$name: $passed of $times were exact\n";
}
exit((int) $failed);
