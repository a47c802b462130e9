--TEST--
Processes at random rates are granted at most capacity + rate * time and lose no token
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('SKIP_SLOW_TESTS') || getenv('USE_ZEND_ALLOC') === '0') {
    die('skip slow');
}
?>
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/processes.php';

mt_srand(7);
for ($round = 0; $round < 20; $round++) {
    $rate = round(10 ** (mt_rand(0, 5500) / 1000), 3);
    // The span is at least 0.5 s. A full bucket loses tokens, if all processes pause for longer.
    $capacity = max(1, (int) ($rate * mt_rand(500, 1500) / 1000));
    $tokens = mt_rand(1, min(3, $capacity));
    $began = hrtime(true);
    $results = in_processes(4, function (int $index) use ($round, $rate, $capacity, $tokens): array {
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "rates $round", $capacity, $rate);
        $low = hrtime(true);
        // The bucket is empty after the first call. A bucket that misses one token could become
        // full during a short pause, and then tokens would be lost.
        $empties = $bucket->consume($capacity);
        $granted = $empties ? $capacity : 0;
        $first = $denied = hrtime(true);
        $lost = 0;
        do {
            $now = hrtime(true);
            if ($bucket->consume($tokens)) {
                $granted += $tokens;
            } else {
                // The bucket held fewer than $tokens at an instant after $low, and at one before
                // now. A full bucket lost tokens only after it got the rest of its capacity.
                $lost += max(0, $rate * (hrtime(true) - $low) / 1e9 - ($capacity - $tokens));
                $low = $denied = $now;
            }
        } while ($now - $first < 150e6);
        return ['empties' => $empties, 'granted' => $granted, 'first' => $first, 'denied' => $denied, 'lost' => $lost];
    });
    $seconds = (hrtime(true) - $began) / 1e9;
    $granted = array_sum(array_column($results, 'granted'));
    $name = "$tokens of $capacity at $rate: $granted in $seconds s";
    check($granted <= $capacity + $rate * $seconds, "$name: over the bound");

    // The call at $denied was denied, so the bucket held fewer than $tokens then. The effective
    // rate is at most 0.1 % below the requested rate.
    $emptying = array_values(array_filter($results, fn (array $result) => $result['empties']));
    check($emptying !== [], "$name: no process emptied the full bucket");
    foreach ($emptying as ['first' => $first, 'denied' => $denied, 'lost' => $lost]) {
        $earned = $rate * 0.999 * ($denied - $first) / 1e9 - $lost;
        check($granted > $capacity + $earned - $tokens - 1, "$name: tokens were lost, and a full bucket lost at most $lost");
    }
}
echo "done\n";
?>
--EXPECT--
done
