--TEST--
attemptAll() never grants too much when a delayed reply makes it give tokens back late
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

const CAPACITY = 10;
const RATE = 250;
$refill = intdiv(1_000_000 * CAPACITY, RATE);

$redis = RedisServer::start();
$proxy = new Proxy("unix://$redis->socket");
$storage = fn (string $dsn) => new TokenBucketStorageRedis($dsn, 'held:', PATIENCE, TokenBucket\OnFailure::Throw, false);
$slow = $storage("redis://127.0.0.1:$proxy->port");
$quick = $storage("unix://$redis->socket");
$warm = [new TokenBucket(new TokenBucketStorageMemory, 'warm', 1, 1), new TokenBucket($slow, 'warm', 1, 1)];
check(TokenBucket::attemptAll($warm)->allowed && !TokenBucket::attemptAll($warm)->allowed, 'the scripts are known');
$warm[1]->refund();
$requests = fn () => $proxy->counts()['requests'];
/** Returns the number of scripts that the server has run. */
$scripts = function () use ($redis): int {
    preg_match('/cmdstat_evalsha:calls=(\d+)/', $redis->command('INFO', 'commandstats'), $match);
    return (int) ($match[1] ?? 0);
};
for ($round = 0; $round < 5; $round++) {
    $here = new TokenBucket(new TokenBucketStorageSharedMemory, "here $round", CAPACITY, 0.001);
    $there = new TokenBucket($quick, "there $round", CAPACITY, RATE);
    $before = $scripts();
    $proxy->set(Proxy::HOLD_REPLIES);
    $batch = fn (): bool => TokenBucket::attemptAll([$here, new TokenBucket($slow, "there $round", CAPACITY, RATE)], CAPACITY)->allowed;
    $rival = function () use ($here, $there, $refill, $proxy, $requests, $scripts, $before): array {
        wait_for('the batch takes all tokens on Redis', fn () => $scripts() > $before);
        // The batch has taken tokens on Redis and waits for the reply. Empties the other bucket, so
        // that the batch must give the tokens on Redis back. Waits until the bucket on Redis has
        // refilled.
        $here->consume(CAPACITY);
        usleep($refill + 5_000);
        $from = hrtime(true);
        $granted = (int) $there->consume(CAPACITY) * CAPACITY;
        $taken = $requests();
        $proxy->set(Proxy::PASS);
        $undone = null;
        do {
            $granted += (int) $there->consume();
            $now = hrtime(true);
            // The next request through the proxy is the one with which the batch gives tokens back.
            $undone ??= $requests() > $taken ? $now : null;
        } while ($undone === null || $now - $undone < 100_000_000);
        return [$granted, ($now - $from) / 1e9];
    };
    [$allowed, [$granted, $window]] = in_processes(2, fn (int $index) => $index === 0 ? $batch() : $rival());
    check($allowed === false, 'the batch is undone');
    $bound = CAPACITY + RATE * $window;
    check($granted <= $bound, "granted $granted in $window s, more than $bound");
}
echo "done\n";
?>
--EXPECT--
done
