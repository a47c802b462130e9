--TEST--
attemptAll() never grants too much when a delayed reply makes it give tokens back late
--EXTENSIONS--
pcntl
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/processes.php';
require __DIR__ . '/../../testkit/php/servers.php';
require __DIR__ . '/../../testkit/php/proxy.php';

const CAPACITY = 10;
const RATE = 250;
$refill = intdiv(1_000_000 * CAPACITY, RATE);

$redis = RedisServer::start();
$proxy = new Proxy("unix://$redis->socket");
$storage = fn (string $dsn) => new TokenBucketStorageRedis($dsn, 'held:', 5.0, TokenBucket\OnFailure::Throw, false);
$slow = $storage("redis://127.0.0.1:$proxy->port");
$quick = $storage("unix://$redis->socket");
check((new TokenBucket($slow, 'warm', 1, 1))->consume(), 'the script is known');
$proxy->set(Proxy::DRIP, 3);
$rounds = 0;
for ($round = 0; $round < 5; $round++) {
    $here = new TokenBucket(new TokenBucketStorageSharedMemory, "here $round", CAPACITY, 0.001);
    $batch = fn (): bool => TokenBucket::attemptAll([$here, new TokenBucket($slow, "there $round", CAPACITY, RATE)], CAPACITY)->allowed;
    $rival = function () use ($here, $quick, $round, $refill): ?array {
        $there = new TokenBucket($quick, "there $round", CAPACITY, RATE);
        $until = hrtime(true) + 1_000_000_000;
        while ($there->peek()->remaining === (float) CAPACITY) {
            if (hrtime(true) > $until) {
                return null;
            }
        }
        // Now the batch has taken all tokens on Redis and waits for the reply. The other bucket has
        // enough tokens until here. Meanwhile the tokens on Redis are refilled.
        $here->consume(CAPACITY);
        usleep($refill + 5_000);
        $from = hrtime(true);
        $granted = 0;
        do {
            $granted += (int) $there->consume();
            $window = hrtime(true) - $from;
        } while ($window < 400_000_000);
        return [$granted, $window / 1e9];
    };
    [$allowed, $raced] = in_processes(2, fn (int $index) => $index === 0 ? $batch() : $rival());
    check($allowed === false, 'the batch is undone');
    if ($raced !== null) {
        [$granted, $window] = $raced;
        $bound = CAPACITY + RATE * $window;
        check($granted <= $bound, "granted $granted in $window s, more than $bound");
        $rounds++;
    }
}
check($rounds > 0, 'no round saw the tokens missing');
echo "done\n";
?>
--EXPECT--
done
