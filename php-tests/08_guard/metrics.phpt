--TEST--
The guard: status() and metrics() count the permits in use, their limit, refusals and blocks of each limit
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/held.inc.php';
require_once __DIR__ . '/../../tools/testkit/php/open_metrics.php';

const GUARD = [
    'tokenbucket.guard' => 'on /hold all concurrent 2; ip concurrent 3; on /login* ip 1/day block 1 day; header:x 9/day',
    'tokenbucket.guard_preflights' => 'all concurrent 7',
    'tokenbucket.guard_trusted_proxies' => '127.0.0.1',
];
const HOLD_PERMITS = '<?php
    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory("exports"), "x", 5);
    $permits = [$limit->acquire(), $limit->acquire()];
    ' . '?>' . HOLD;

/** Returns the number of all permits in use. */
function all_held(Fpm $fpm): int
{
    $script = $fpm->script('held', '<?php echo TokenBucket\status()["permits"]["held"];');
    // The guard does not limit a request without an address.
    return (int) $fpm->request($script, ['REMOTE_ADDR' => ''])['body'];
}

/** Returns status() and metrics() after a check that they agree. No request may end meanwhile. */
function read(Fpm $fpm): array
{
    $script = $fpm->script('read', '<?php echo serialize([TokenBucket\status(), TokenBucket\metrics()]);');
    [$status, $text] = unserialize($fpm->request($script, ['REMOTE_ADDR' => ''])['body']);
    $metrics = new OpenMetrics($text);
    foreach ($status['decisions'] as $row) {
        $value = fn (string $metric) => $metrics->value("tokenbucket_$metric", ['namespace' => $row['namespace']]);
        check(($value('permits_held') ?? 0.0) === (float) $row['permits_held'], "permits held of $row[namespace]");
        check($value('guard_permits_limit') === (isset($row['permits_limit']) ? (float) $row['permits_limit'] : null), "limit of $row[namespace]");
        check($value('guard_blocks_total') === (isset($row['blocked']) ? (float) $row['blocked'] : null), "blocks of $row[namespace]");
        check(str_starts_with($row['namespace'], 'guard') === array_key_exists('permits_limit', $row), "fields of $row[namespace]");
    }
    check($metrics->sum('tokenbucket_permits_held') === (float) $status['permits']['held'], 'all permits');
    check($metrics->sum('tokenbucket_guard_blocks_total') === (float) $status['shared_memory']['blocked'], 'all blocks');
    return [$status, $metrics];
}

/** Prints the rows that have permits or blocks. */
function print_rows(string $what, array $status): void
{
    echo "$what\n";
    // How many lines of the log are left out depends on the time.
    foreach (array_filter($status['decisions'], fn (array $row) => $row['namespace'] !== 'guard: log lines') as $row) {
        $numbers = array_filter(array_intersect_key($row, ['permits_held' => 0, 'permits_limit' => 0, 'blocked' => 0, 'denied_by_store' => 0]));
        echo $numbers === [] ? '' : "  $row[namespace]: " . json_encode($numbers) . "\n";
    }
}

foreach (['enforce', 'observe'] as $mode) {
    echo "== $mode\n";
    $fpm = new Fpm(['www' => ['pm.max_children' => 8, 'listen.mode' => '0666']], ['tokenbucket.guard_mode' => $mode, 'error_log' => '/dev/null'] + GUARD);
    $nginx = new Nginx($fpm);
    $fpm->script('hold', HOLD);
    $fpm->script('login', '<?php echo "login";');
    $fpm->script('exports', HOLD_PERMITS);
    [$status, $metrics] = read($fpm);
    check(!isset($metrics->families['tokenbucket_guard_permits_limit']), 'no limit has decided yet');
    $held = new Held($nginx->port, '/hold');
    $held->start(1);
    $held->start(2);
    $exports = new Held($nginx->port, '/exports');
    $exports->start(3);
    if ($mode === 'enforce') {
        echo probe($nginx->port, '/hold', 4), ' ';
    }
    echo implode(' ', array_map(fn () => probe($nginx->port, '/login', 5), range(1, 3))), "\n";
    print_rows('while three requests run', read($fpm)[0]);
    send_signal('KILL', $held->processes()[0]);
    wait_for('the kernel has ended the worker', fn () => all_held($fpm) === 5);
    print_rows('after a worker was killed', read($fpm)[0]);
    $held->end();
    $exports->end();
    wait_for('the requests have ended', fn () => all_held($fpm) === 0);
    [$status, $metrics] = read($fpm);
    print_rows('at last', $status);
    // A limit without permits has the value 0. A missing value would be a gap in a chart.
    check($metrics->value('tokenbucket_permits_held', ['namespace' => 'guard: ip concurrent 3']) === 0.0, 'a limit without permits in use');
    check($metrics->value('tokenbucket_permits_held', ['namespace' => 'guard: header:x 9/day burst 9']) === null, 'a rate has no permits');
    $nginx->kill();
    $fpm->stop();
}
?>
--EXPECT--
== enforce
503 200 429 429
while three requests run
  exports: {"permits_held":2}
  guard: ip concurrent 3: {"permits_held":3,"permits_limit":3}
  guard: on /hold all concurrent 2: {"denied_by_store":1,"permits_held":2,"permits_limit":2}
  guard: on /login* ip 1/day burst 1 block 1 day: {"denied_by_store":2,"blocked":1}
  guard: preflights: all concurrent 7: {"permits_limit":7}
after a worker was killed
  exports: {"permits_held":2}
  guard: ip concurrent 3: {"permits_held":2,"permits_limit":3}
  guard: on /hold all concurrent 2: {"denied_by_store":1,"permits_held":1,"permits_limit":2}
  guard: on /login* ip 1/day burst 1 block 1 day: {"denied_by_store":2,"blocked":1}
  guard: preflights: all concurrent 7: {"permits_limit":7}
at last
  guard: ip concurrent 3: {"permits_limit":3}
  guard: on /hold all concurrent 2: {"denied_by_store":1,"permits_limit":2}
  guard: on /login* ip 1/day burst 1 block 1 day: {"denied_by_store":2,"blocked":1}
  guard: preflights: all concurrent 7: {"permits_limit":7}
== observe
200 200 200
while three requests run
  exports: {"permits_held":2}
  guard: ip concurrent 3: {"permits_held":3,"permits_limit":3}
  guard: on /hold all concurrent 2: {"permits_held":2,"permits_limit":2}
  guard: on /login* ip 1/day burst 1 block 1 day: {"denied_by_store":2,"blocked":1}
  guard: preflights: all concurrent 7: {"permits_limit":7}
after a worker was killed
  exports: {"permits_held":2}
  guard: ip concurrent 3: {"permits_held":2,"permits_limit":3}
  guard: on /hold all concurrent 2: {"permits_held":1,"permits_limit":2}
  guard: on /login* ip 1/day burst 1 block 1 day: {"denied_by_store":2,"blocked":1}
  guard: preflights: all concurrent 7: {"permits_limit":7}
at last
  guard: ip concurrent 3: {"permits_limit":3}
  guard: on /hold all concurrent 2: {"permits_limit":2}
  guard: on /login* ip 1/day burst 1 block 1 day: {"denied_by_store":2,"blocked":1}
  guard: preflights: all concurrent 7: {"permits_limit":7}
