--TEST--
The guard: limits are exact without opcache, with opcache, with its JIT and with preloading
--EXTENSIONS--
opcache
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

$preload = log_file();
file_put_contents($preload, '<?php final class Preloaded { public const TEXT = "preloaded"; }');
$on = ['opcache.enable' => '1'];
foreach ([
    'without opcache' => ['opcache.enable' => '0'],
    'opcache' => $on + ['opcache.jit_buffer_size' => '0'],
    'function JIT' => $on + ['opcache.jit_buffer_size' => '32M', 'opcache.jit' => 'function'],
    'tracing JIT' => $on + ['opcache.jit_buffer_size' => '32M', 'opcache.jit' => 'tracing'],
    // PHP does not preload as root.
    'preloading' => $on + ['opcache.preload' => $preload] + (fileowner('/proc/self') === 0 ? ['opcache.preload_user' => 'nobody'] : []),
    'no $_SERVER' => ['opcache.enable' => '0', 'variables_order' => 'GP', 'auto_globals_jit' => '0'],
] as $how => $ini) {
    // Preloading runs a script without a request. The guard must not count it as a request without
    // the header.
    $fpm = new Fpm(ini: $ini + ['tokenbucket.guard' => 'ip+path 1/day burst 60; header:X-Missing 1/day burst 100']);
    $script = $fpm->script('script', '<?php echo class_exists("Preloaded", false) ? "preloaded" : "script";');
    $other = $fpm->script('other', '<?php for ($i = 0; $i < 1000; $i++) { $x = ($x ?? 0) + $i; } echo class_exists("Preloaded", false) ? "preloaded" : "script";');
    $answers = in_processes(4, function (int $index) use ($fpm, $script, $other) {
        $answers = [];
        for ($i = 0; $i < 50; $i++) {
            $answer = $fpm->request($i % 2 ? $script : $other, ['REMOTE_ADDR' => '192.0.2.' . $index % 2]);
            $answers[] = $answer === null ? 'lost' : "$answer[status] $answer[body]";
        }
        return $answers;
    });
    $counts = array_count_values(array_map(trim(...), array_merge(...$answers)));
    ksort($counts);
    echo "$how: ", json_encode($counts), ' ', json_encode(decisions($fpm, 'guard: header:x-missing 1/day burst 100')), "\n";
    check(count($fpm->workers()) === 4, 'no worker has died');
    check(!preg_match('/(Warning|Fatal|exited|Segmentation)/', $fpm->log()), $fpm->log());
    $fpm->stop();
}
?>
--EXPECT--
without opcache: {"200 script":100,"429 Too many requests.":100} {"granted":100,"denied":100}
opcache: {"200 script":100,"429 Too many requests.":100} {"granted":100,"denied":100}
function JIT: {"200 script":100,"429 Too many requests.":100} {"granted":100,"denied":100}
tracing JIT: {"200 script":100,"429 Too many requests.":100} {"granted":100,"denied":100}
preloading: {"200 preloaded":100,"429 Too many requests.":100} {"granted":100,"denied":100}
no $_SERVER: {"200 script":100,"429 Too many requests.":100} {"granted":100,"denied":100}
