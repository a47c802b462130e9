--TEST--
The guard: every end of a request gives its permits back, also a fatal error and kill -9
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/held.inc.php';

const ENDS = [
    'exit' => '<?php register_shutdown_function(fn () => exit(3)); exit("exit");',
    'exception' => '<?php throw new Exception("uncaught");',
    'fatal' => '<?php ini_set("memory_limit", "4M"); str_repeat("x", 1 << 27);',
    'parse' => '<?php }',
    'finish' => '<?php function_exists("fastcgi_finish_request") && fastcgi_finish_request(); usleep(1000);',
    'index' => '<?php echo "end";',
];
const GUARD = ['tokenbucket.guard' => 'all concurrent 1; ip concurrent 1; ip 1000000/day', 'tokenbucket.guard_trusted_proxies' => '127.0.0.1', 'display_errors' => '0'];

with_web_servers(GUARD, ['hold' => HOLD] + ENDS, function (string $name, int $port) {
    $statuses = [];
    foreach (array_keys(ENDS) as $end) {
        // The previous request may hold its permit for a moment after its response.
        wait_for("$end can run", function () use ($port, $end, &$statuses) {
            $statuses[$end] = probe($port, "/$end.php", 1);
            return $statuses[$end] !== 503;
        });
    }
    $first = probe($port, '/', 1);
    echo "$name: ", implode(' ', $statuses), ", then $first\n";
    if (in_array($name, ['nginx and php-fpm', 'mod_php', 'php-cgi'], true)) {
        $held = new Held($port, '/hold.php');
        $held->start(1);
        $before = probe($port, '/', 2);
        $process = $held->processes()[0];
        send_signal('KILL', $process);
        wait_for('the process is dead', fn () => !is_alive($process));
        echo "  killed: $before, then ", probe($port, '/', 2), "\n";
    }
});

echo "== workers that end after five requests, and a reload\n";
$fpm = new Fpm(['www' => ['pm.max_requests' => 5]], GUARD);
$script = $fpm->script('index', ENDS['index']);
$status = fn (int $client) => $fpm->request($script, ['REMOTE_ADDR' => "192.0.2.$client"])['status'];
echo json_encode(array_count_values(array_map($status, range(1, 100))));
$fpm->reload();
echo ' ', json_encode(array_count_values(array_map($status, range(1, 20)))), "\n";
$fpm->stop();

echo "== observe\n";
$fpm = new Fpm(['www' => ['listen.mode' => '0666']], ['tokenbucket.guard_mode' => 'observe', 'tokenbucket.guard' => 'ip concurrent 1; ip 2/day'] + GUARD);
$fpm->script('hold', HOLD);
$fpm->script('index', ENDS['index']);
$nginx = new Nginx($fpm);
$held = new Held($nginx->port, '/hold');
$held->start(1);
echo implode(' ', array_map(fn () => probe($nginx->port, '/index', 1), range(1, 3))), ' ', $held->end(), "\n";
foreach (['guard: ip concurrent 1', 'guard: ip 2/day burst 2'] as $row) {
    echo "$row: ", json_encode(decisions($fpm, $row)), "\n";
}
?>
--EXPECT--
nginx and php-fpm: 200 500 500 500 200 200, then 200
  killed: 503, then 200
Apache and php-fpm: 200 500 500 500 200 200, then 200
mod_php: 200 500 500 500 200 200, then 200
  killed: 503, then 200
php-cgi: 200 500 500 500 200 200, then 200
  killed: 503, then 200
PHP's own web server: 200 500 500 500 200 200, then 200
== workers that end after five requests, and a reload
{"200":100} {"200":20}
== observe
200 200 200 held
guard: ip concurrent 1: {"granted":1,"denied":3}
guard: ip 2/day burst 2: {"granted":2,"denied":2}
