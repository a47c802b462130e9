--TEST--
Processes at random rates are granted at most capacity + rate * time and lose no token
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

mt_srand(7);
for ($round = 0; $round < 20; $round++) {
    $rate = round(10 ** (mt_rand(0, 5500) / 1000), 3);
    // The span is at least 0.5 s. A full bucket loses tokens, if all processes pause for longer.
    $capacity = max(1, (int) ($rate * mt_rand(500, 1500) / 1000));
    $tokens = mt_rand(1, min(3, $capacity));
    $began = hrtime(true);
    $results = in_processes(4, function (int $index) use ($round, $rate, $capacity, $tokens): array {
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "rates $round", $capacity, $rate);
        $begin = hrtime(true);
        // The bucket is empty after the first call. A bucket that misses one token could become
        // full during a short pause, and then tokens would be lost.
        $empties = $bucket->consume($capacity);
        $granted = $empties ? $capacity : 0;
        $first = hrtime(true);
        // The period from the first to the last call after which the bucket held few tokens.
        [$from, $low, $lost] = $empties ? [$first, $begin, 0] : [INF, null, 0];
        do {
            $now = hrtime(true);
            if ($bucket->consume($tokens)) {
                $granted += $tokens;
            } else {
                // The bucket held fewer than $tokens at an instant after $low, and at one before
                // now. A full bucket lost tokens only after it got the rest of its capacity.
                $lost += $low === null ? 0 : max(0, $rate * (hrtime(true) - $low) / 1e9 - ($capacity - $tokens));
                $low = $now;
                $from = min($from, hrtime(true));
            }
        } while ($now - $first < 150e6);
        return ['empties' => $empties, 'granted' => $granted, 'from' => $from, 'low' => $low ?? 0, 'lost' => $lost];
    });
    $seconds = (hrtime(true) - $began) / 1e9;
    $granted = array_sum(array_column($results, 'granted'));
    $name = "$tokens of $capacity at $rate: $granted in $seconds s";
    check($granted <= $capacity + $rate * $seconds, "$name: over the bound");

    // The bucket was emptied at $from, and held few tokens at $low. Between them, a full bucket
    // lost at most $lost tokens, if periods of processes follow each other without a gap. The
    // effective rate is at most 0.1 % below the requested rate.
    usort($results, fn (array $a, array $b) => [$b['empties'], $a['from']] <=> [$a['empties'], $b['from']]);
    ['from' => $from, 'low' => $low, 'lost' => $lost] = $results[0];
    check($results[0]['empties'], "$name: no process emptied the full bucket");
    foreach ($results as $result) {
        if ($result['from'] <= $low && $result['low'] > $low) {
            $low = $result['low'];
            $lost += $result['lost'];
        }
    }
    $earned = $rate * 0.999 * ($low - $from) / 1e9 - $lost;
    check($granted > $capacity + $earned - $tokens - 1, "$name: tokens were lost, and a full bucket lost at most $lost");
}
echo "done\n";
?>
--EXPECT--
done
