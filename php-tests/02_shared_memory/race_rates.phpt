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
    // The span is at least 0.25 s. A bucket becomes full, and loses the tokens that it cannot hold,
    // only if all processes pause for longer.
    $capacity = max(1, (int) ($rate * mt_rand(500, 1500) / 1000));
    $tokens = mt_rand(1, min(3, $capacity));
    $began = hrtime(true);
    $results = in_processes(4, function (int $index) use ($round, $rate, $capacity, $tokens): array {
        $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "rates $round", $capacity, $rate);
        $begin = hrtime(true);
        // The first call empties the bucket. If it took only one token, the bucket could become
        // full again during a short pause, and then tokens would be lost.
        $empties = $bucket->consume($capacity);
        $granted = $empties ? $capacity : 0;
        $first = hrtime(true);
        // Some calls leave fewer than $tokens tokens. $from is an instant after the first such
        // call, and $low is an instant before the last one. Between these two calls, the bucket
        // lost at most $lost tokens because it was full.
        [$from, $low, $lost] = $empties ? [$first, $begin, 0] : [INF, null, 0];
        do {
            $now = hrtime(true);
            if ($bucket->consume($tokens)) {
                $granted += $tokens;
            } else {
                // The bucket held fewer than $tokens tokens at an instant after $low, and again
                // before now. In between, it became full only if it gained $capacity - $tokens
                // tokens. Only tokens refilled beyond these can have been lost.
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

    // The bucket was emptied before $from, and held few tokens after $low. Overlapping periods of
    // several processes are joined, and their losses are added. The effective rate is at most 0.1 %
    // below the requested rate.
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
