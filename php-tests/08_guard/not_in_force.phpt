--TEST--
The guard: reports say whether the limits are in force, and a server that ignores them logs one warning
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/child.php';

const SHOW = <<<'PHP'
    $guard = TokenBucket\status()['guard'];
    echo json_encode($guard['in_force']), ', ', json_encode($guard['reason'], JSON_UNESCAPED_SLASHES), "\n";
    ob_start();
    phpinfo(INFO_MODULES);
    preg_match_all('/^(?:<tr><td class="e">)?Guard\b.*/m', ob_get_clean(), $rows);
    echo trim(strip_tags(html_entity_decode(implode("\n", $rows[0])))), "\n";
    echo implode("\n", preg_grep('/^tokenbucket_guard_in_force/', explode("\n", TokenBucket\metrics()))), "\n";
    PHP;
const GUARD = ['tokenbucket.guard' => 'ip 1/day burst 9'];

/** Prints what a process of the command line prints and logs. */
$line = function (string $what, array $ini, string $code = SHOW): void {
    $log = log_file();
    echo "== $what\n", trim(php_run($code, ['error_log' => $log] + $ini)), "\n", preg_replace('/^\[.*?\] /m', '', file_get_contents($log));
};
$line('the command line', GUARD);
$line('a limit that would count the command line', ['tokenbucket.guard' => 'header:X 1/day'], 'echo TokenBucket\status()["shared_memory"]["granted"], " counted";');
$line('no limit', []);
putenv('RR_MODE=http');
$line('RoadRunner', GUARD);
$line('RoadRunner without a limit', []);
const LOOP = 'TokenBucket\guard(["REMOTE_ADDR" => "192.0.2.1"]);' . SHOW;
$line('RoadRunner whose loop calls guard()', GUARD, LOOP);
$line('the same on a named segment', GUARD + ['tokenbucket.shm_path' => temporary_folder() . '/segment'], LOOP);
$line('the same with a segment that is refused', GUARD + ['tokenbucket.shm_path' => '/missing/segment', 'display_startup_errors' => '0'], LOOP);
putenv('RR_MODE');

foreach ([
    'php-fpm' => GUARD, 'php-fpm in the mode "observe"' => GUARD + ['tokenbucket.guard_mode' => 'observe'], 'php-fpm with an error' => ['tokenbucket.guard' => 'ip 1/fortnight'],
    'php-fpm with an error in one of two settings' => GUARD + ['tokenbucket.guard_local' => 'ip 1/fortnight'],
] as $what => $ini) {
    $fpm = new Fpm(['www' => ['pm.max_children' => 1]], $ini + ['error_log' => log_file()]);
    $script = $fpm->script('show', '<?php ' . SHOW);
    echo "== $what\n", trim($fpm->request($script, ['REMOTE_ADDR' => '192.0.2.1'])['body']), "\n";
    $fpm->stop();
}
?>
--EXPECT--
== the command line
false, "the command line serves no requests"
Guard => not in force: the command line serves no requests
tokenbucket_guard_in_force{reason="the command line serves no requests"} 0
== a limit that would count the command line
0 counted
== no limit
false, "no limit is set"
Guard => not in force: no limit is set
== RoadRunner
false, "it does not see the requests of RoadRunner; call guard() for each of them"
Guard => not in force: it does not see the requests of RoadRunner; call guard() for each of them
tokenbucket_guard_in_force{reason="it does not see the requests of RoadRunner; call guard() for each of them"} 0
tokenbucket: guard: tokenbucket.guard is not in force, because it does not see the requests of RoadRunner; call guard() for each of them
== RoadRunner without a limit
false, "no limit is set"
Guard => not in force: no limit is set
== RoadRunner whose loop calls guard()
false, "each worker of RoadRunner has buckets of its own while tokenbucket.shm_path is empty"
Guard => not in force: each worker of RoadRunner has buckets of its own while tokenbucket.shm_path is empty
tokenbucket_guard_in_force{reason="each worker of RoadRunner has buckets of its own while tokenbucket.shm_path is empty"} 0
tokenbucket: guard: tokenbucket.guard is not in force, because it does not see the requests of RoadRunner; call guard() for each of them
tokenbucket: guard: tokenbucket.guard is not in force, because each worker of RoadRunner has buckets of its own while tokenbucket.shm_path is empty
== the same on a named segment
true, null
Guard => in force
tokenbucket_guard_in_force{reason=""} 1
tokenbucket: guard: tokenbucket.guard is not in force, because it does not see the requests of RoadRunner; call guard() for each of them
== the same with a segment that is refused
false, "each worker of RoadRunner has buckets of its own while the segment of tokenbucket.shm_path was refused"
Guard => not in force: each worker of RoadRunner has buckets of its own while the segment of tokenbucket.shm_path was refused
tokenbucket_guard_in_force{reason="each worker of RoadRunner has buckets of its own while the segment of tokenbucket.shm_path was refused"} 0
PHP Warning:  tokenbucket: the segment /missing/segment is refused (its folder is missing); using private shared memory instead in Unknown on line 0
tokenbucket: guard: tokenbucket.guard is not in force, because it does not see the requests of RoadRunner; call guard() for each of them
tokenbucket: guard: tokenbucket.guard is not in force, because each worker of RoadRunner has buckets of its own while the segment of tokenbucket.shm_path was refused
== php-fpm
true, null
Guard in force
tokenbucket_guard_in_force{reason=""} 1
== php-fpm in the mode "observe"
false, "the mode is \"observe\""
Guard not in force: the mode is "observe"
tokenbucket_guard_in_force{reason="the mode is \"observe\""} 0
== php-fpm with an error
false, "tokenbucket.guard must have second, minute, hour or day at position 6, \"fortnight\" given; no limit of this setting is in force"
Guard not in force: tokenbucket.guard must have second, minute, hour or day at position 6, "fortnight" given; no limit of this setting is in force
tokenbucket_guard_in_force{reason="tokenbucket.guard must have second, minute, hour or day at position 6, \"fortnight\" given; no limit of this setting is in force"} 0
== php-fpm with an error in one of two settings
true, null
Guard in force
tokenbucket_guard_in_force{reason=""} 1
