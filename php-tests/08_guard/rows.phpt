--TEST--
The guard: each limit has a row of its own, and the mode "observe" denies nothing, counts, and logs a line a minute
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

/** Prints the rows of these limits. */
function rows(Fpm $fpm, string ...$rows): void
{
    foreach ($rows as $row) {
        echo "  $row: ", json_encode(decisions($fpm, $row)), "\n";
    }
}

$client = ['REMOTE_ADDR' => '192.0.2.1', 'SERVER_NAME' => 'a'];
foreach (['enforce', 'observe'] as $mode) {
    echo "== $mode\n";
    $log = log_file();
    $fpm = new Fpm(ini: ['error_log' => $log, 'tokenbucket.guard' => 'path 1/day burst 5; ip 1/day burst 2; ip+path 1/day burst 2', 'tokenbucket.guard_mode' => $mode]);
    $script = $fpm->script('script', SCRIPT);
    echo statuses($fpm, $script, ...array_fill(0, 6, $client)), "\n";
    rows($fpm, 'guard: path 1/day burst 5', 'guard: ip 1/day burst 2', 'guard: ip+path 1/day burst 2', 'guard: no address');
    echo preg_replace('/^\[.*?\] /m', '', file_get_contents($log));
    $fpm->stop();
}

echo "== limits that begin alike\n";
$long = 'header:' . str_repeat('x', 180);
$fpm = new Fpm(ini: ['tokenbucket.guard' => "$long 1/day burst 3; $long+ip 1/day burst 2"]);
$script = $fpm->script('script', SCRIPT);
echo statuses($fpm, $script, ...array_fill(0, 4, $client)), "\n";
$listed = json_decode($fpm->request($fpm->script('all', '<?php echo json_encode(TokenBucket\status()["decisions"]);'), ['REMOTE_ADDR' => ''])['body'], true);
$listed = array_filter($listed, fn (array $row) => str_starts_with((string) $row['namespace'], 'guard: header'));
$counts = array_map(fn (array $row) => strlen($row['namespace']) . " bytes: granted $row[granted_by_store], denied $row[denied_by_store]\n", $listed);
sort($counts);
echo implode($counts);
$fpm->stop();

echo "== a namespace with the name of a row\n";
$fpm = new Fpm(ini: ['tokenbucket.guard' => 'ip 1/day burst 2']);
$take = '<?php foreach (["guard: ip 1/day burst 2", "guard_local", "guard: ip 1"] as $namespace) {
    (new TokenBucket(new TokenBucketStorageSharedMemory($namespace), "id", 5, 1))->consume();
}';
echo statuses($fpm, $fpm->script('take', $take), $client), "\n";
rows($fpm, 'guard: ip 1/day burst 2', '/guard: ip 1/day burst 2', 'guard_local', '/guard_local', '/guard: ip 1');
$fpm->stop();

echo "== a setting of an application with line breaks\n";
$log = log_file();
$fpm = new Fpm(ini: ['error_log' => $log]);
$script = $fpm->script('script', SCRIPT);
$local = "ip 1/day <b>\n[01-Jan-2030 00:00:00 UTC] PHP Fatal error:  forged" . str_repeat('.', 10_000);
echo statuses($fpm, $script, $client + ['PHP_VALUE' => "tokenbucket.guard_local=\"$local\""]), "\n";
$lines = file($log);
echo count($lines), ' line: ', preg_replace(['/^\[.*?\] /', '/\.{10,}/'], ['', '…'], $lines[0]);
?>
--EXPECT--
== enforce
200 200 429 429 429 429
  guard: path 1/day burst 5: {"granted":2,"denied":0}
  guard: ip 1/day burst 2: {"granted":2,"denied":4}
  guard: ip+path 1/day burst 2: {"granted":2,"denied":0}
  guard: no address: {"granted":4,"denied":0}
== observe
200 200 200 200 200 200
  guard: path 1/day burst 5: {"granted":5,"denied":1}
  guard: ip 1/day burst 2: {"granted":2,"denied":4}
  guard: ip+path 1/day burst 2: {"granted":2,"denied":4}
  guard: no address: {"granted":4,"denied":0}
tokenbucket: guard: 192.0.2.1 exceeds "ip 1/day burst 2" and would be denied in the mode "enforce"
tokenbucket: guard: 192.0.2.1 exceeds "ip+path 1/day burst 2" and would be denied in the mode "enforce"
tokenbucket: guard: 192.0.2.1 exceeds "path 1/day burst 5" and would be denied in the mode "enforce"
== limits that begin alike
200 200 429 429
176 bytes: granted 2, denied 0
176 bytes: granted 2, denied 2
== a namespace with the name of a row
200
  guard: ip 1/day burst 2: {"granted":1,"denied":0}
  /guard: ip 1/day burst 2: {"granted":1,"denied":0}
  guard_local: {"granted":0,"denied":0}
  /guard_local: {"granted":1,"denied":0}
  /guard: ip 1: {"granted":1,"denied":0}
== a setting of an application with line breaks
200
1 line: tokenbucket: tokenbucket.guard_local must have "burst", "block", "leave", "name", ";" or the end at position 10, "\x3cb>\n[01-Jan-2030 00:00:00 UTC] PHP Fatal error:  forged…" given; no limit of this setting is in force
