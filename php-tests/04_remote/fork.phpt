--TEST--
After a fork no process reads another's reply, and a child's exit keeps the parent connected
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/tls.inc.php';

const CHILDREN = 4;
$calls = is_slow() ? 50 : 500;
$tls = new TlsRedis;
$redis = $tls->server;
$memcached = MemcachedServer::startTcp();
$throw = TokenBucket\OnFailure::Throw;
$storages = array_filter([
    'Redis' => new TokenBucketStorageRedis("unix://$redis->socket", 'unix:', PATIENCE, $throw, false),
    'Redis with TLS' => new TokenBucketStorageRedis($tls->dsn(), 'tls:', PATIENCE, $throw, false),
    'memcached' => new TokenBucketStorageMemcached("127.0.0.1:$memcached->port", 'tcp:', PATIENCE, $throw, false),
    // Skips TLS under valgrind, which reports the output of the cipher's assembly code as
    // uninitialised.
], fn (string $name) => !is_slow() || $name !== 'Redis with TLS', ARRAY_FILTER_USE_KEY);
/** Returns the ids of the connections that run scripts. */
$clients = function () use ($redis): array {
    preg_match_all('/^id=(\d+) .*cmd=evalsha/m', $redis->command('CLIENT', 'LIST'), $matches);
    return array_map(intval(...), $matches[1]);
};

foreach ($storages as $name => $storage) {
    // Each bucket has a different capacity, so that the test detects replies to another process.
    $play = function (int $who) use ($storage, $name, $calls): array {
        $capacity = 1000 + 100 * $who;
        $bucket = new TokenBucket($storage, "of $who", $capacity, 1e-5);
        $wrong = [];
        for ($i = 1; $i <= $calls; $i++) {
            $decision = $bucket->attempt();
            if (!$decision->allowed || $decision->remaining !== (float) ($capacity - $i) || $decision->capacity !== (float) $capacity) {
                $wrong[] = "$name, $who: $i: " . json_encode($decision);
            }
            if ($i % 10 === 0 && $bucket->peek(0)->remaining !== (float) ($capacity - $i)) {
                $wrong[] = "$name, $who: peek at $i";
            }
        }
        return $wrong;
    };
    $parent = new TokenBucket($storage, 'parent', 1e6, 0.01);
    $parent->consume();
    $parent->consume();
    $before = $clients();
    $expected = 1e6 - 2;
    for ($round = 0; $round < 2; $round++) {
        $children = [];
        for ($who = 0; $who < CHILDREN; $who++) {
            if (($pid = pcntl_fork()) === 0) {
                foreach ($play($round * CHILDREN + $who) as $wrong) {
                    echo "FAILED: $wrong\n";
                }
                // Half of the children exit normally. The other children are killed.
                $who % 2 ? exit(0) : send_signal('KILL', getmypid());
                sleep(10);
            }
            $children[] = $pid;
        }
        // The parent keeps calling while the children run.
        do {
            for ($i = 0; $i < 20; $i++) {
                $remaining = $parent->attempt()->remaining;
                check($remaining === --$expected, "$name: the parent has $remaining, not $expected");
            }
            $children = array_filter($children, fn ($pid) => pcntl_waitpid($pid, $status, WNOHANG) === 0);
        } while ($children !== []);
    }
    if (str_starts_with($name, 'Redis')) {
        wait_for("$name closes the children's connections", fn () => count($clients()) <= count($before));
        $after = $clients();
        $own = array_intersect($before, $after);
        check($before !== [] && $own === $before, "$name: the parent's connections stay: " . json_encode([$before, $after]));
        check(count($after) === count($before), "$name: the children's are closed: " . json_encode([$before, $after]));
    }
}

echo "-- a grandchild, and a child that never used the storage --\n";
$bucket = new TokenBucket($storages['Redis'], 'family', 10, 1e-6);
$bucket->consume();
in_processes(2, function (int $index) use ($bucket): void {
    if ($index === 0) {
        $bucket->consume();
        in_processes(2, fn () => $bucket->consume());
        $bucket->consume();
    }
});
var_dump($bucket->peek()->remaining);
wait_for('memcached closes the connections of children', fn () => (int) $memcached->stats()['curr_connections'] < 8);
check(TokenBucket\status()['remote']['failed'] === 0, 'nothing failed');
?>
--EXPECT--
-- a grandchild, and a child that never used the storage --
float(5)
