--TEST--
The guard: the name of a limit is in its row and its log line, and choosing another one changes no bucket
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

$log = log_file();
$fpm = new Fpm(ini: ['error_log' => $log]);
$script = $fpm->script('script', SCRIPT);
$send = fn (string $guard, string $mode = 'enforce') => $fpm->request($script, [
    'REMOTE_ADDR' => '192.0.2.1', 'PHP_ADMIN_VALUE' => "tokenbucket.guard=\"$guard\"\ntokenbucket.guard_mode=$mode",
])['status'];
foreach ([
    'ip 1/day burst 3 name first', 'ip 1/day burst 3 name second', 'ip 1/day burst 3 leave 1 on /x', 'ip 1/day burst 3 name first', 'ip 1/day burst 4 name first',
] as $guard) {
    $status = $send($guard);
    echo "$guard: $status, ", json_encode(decisions($fpm, "guard: $guard")), "\n";
}

$long = 'on ' . implode(',', array_map(fn (int $i) => "/a-long-path-$i*", range(10, 25))) . ',/* ip 1/day burst 1 name listing';
echo 'the log and the row of a long limit: ', implode(' ', array_map(fn () => $send($long, 'observe'), range(1, 3))), "\n";
echo preg_match('/exceeds "on .* ip 1\/day burst 1 name listing" and/', file_get_contents($log)), "\n";
$rows = json_decode($fpm->request($fpm->script('rows', '<?php echo json_encode(array_column(TokenBucket\status()["decisions"], "namespace"));'), ['REMOTE_ADDR' => ''])['body']);
$metrics = $fpm->request($fpm->script('metrics', '<?php echo TokenBucket\metrics();'), ['REMOTE_ADDR' => ''])['body'];
foreach (preg_grep('/listing/', $rows) as $row) {
    echo preg_replace('/~\w{8}~/', '~hash~', $row), "\n";
    check(str_contains($metrics, "\"$row\""), 'the metrics have the row');
}
?>
--EXPECT--
ip 1/day burst 3 name first: 200, {"granted":1,"denied":0}
ip 1/day burst 3 name second: 200, {"granted":1,"denied":0}
ip 1/day burst 3 leave 1 on /x: 200, {"granted":1,"denied":0}
ip 1/day burst 3 name first: 429, {"granted":1,"denied":1}
ip 1/day burst 4 name first: 200, {"granted":1,"denied":0}
the log and the row of a long limit: 200 200 200
1
guard: on /*,/a-long-path-10*,/a-long-path-11*,/a-long-path-12*,/a-long-path-13*,/a-long-path-14*,/a-long-path-15*,/a-long-pat~hash~g-path-25* ip 1/day burst 1 name listing
