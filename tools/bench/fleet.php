<?php
/**
 * Counts the round trips of 8 hosts that share a used-up bucket on Redis, with and without
 * takeAhead, by the counters of the server. The first second does not count.
 *
 * A host is a segment with four workers. A worker calls again about a millisecond after each
 * decision. Exits with 1 if a target is missed.
 */
require_once __DIR__ . '/../testkit/php/testkit.php';

const HOSTS = 8;
const WORKERS = 4;
const SECONDS = 5;

/** Calls until $to. Prints the number of the grants from $from on, by the clock of hrtime(). */
function work(string $dsn, float $takeAhead, int $rate, int $from, int $to): void
{
    $bucket = new TokenBucket(new TokenBucketStorageRedis($dsn, timeout: PATIENCE, takeAhead: $takeAhead), 'hot', $rate, $rate);
    $grants = 0;
    while (hrtime(true) < $to) {
        $granted = $bucket->consume();
        $grants += $granted && hrtime(true) >= $from ? 1 : 0;
        usleep(mt_rand(500, 1500));
    }
    echo $grants;
}

/** @return array{int, list<int>} the round trips, and the grants of each host */
function count_trips(int $rate, float $takeAhead): array
{
    $redis = RedisServer::start();
    $folder = temporary_folder();
    $scripts = function () use ($redis): int {
        preg_match('/cmdstat_evalsha:calls=(\d+)/', $redis->command('INFO', 'commandstats'), $found);
        return (int) ($found[1] ?? 0);
    };
    $from = hrtime(true) + 3_000_000_000;
    $to = $from + SECONDS * 1_000_000_000;
    $workers = [];
    for ($worker = 0; $worker < HOSTS * WORKERS; $worker++) {
        $command = php_command(['tokenbucket.shm_path' => "$folder/host" . $worker % HOSTS, 'tokenbucket.shm_size' => '1M']);
        $command .= ' -f ' . escapeshellarg(__FILE__) . " -- redis://127.0.0.1:$redis->port $takeAhead $rate $from $to";
        $process = proc_open("exec $command", [1 => ['pipe', 'w']], $pipes);
        $workers[] = [$process, $pipes[1]];
    }
    usleep(max(0, intdiv($from - hrtime(true), 1000)));
    $before = $scripts();
    $grants = array_fill(0, HOSTS, 0);
    foreach ($workers as $worker => [$process, $output]) {
        $grants[$worker % HOSTS] += (int) stream_get_contents($output);
        proc_close($process);
    }
    return [$scripts() - $before, $grants];
}

if (isset($argv[1])) {
    work($argv[1], (float) $argv[2], (int) $argv[3], (int) $argv[4], (int) $argv[5]);
    exit;
}
$missed = 0;
foreach ([[20, 0.6], [1000, 0.05]] as [$rate, $takeAhead]) {
    foreach ([0, $takeAhead] as $ahead) {
        [$trips, $grants] = count_trips($rate, $ahead);
        $sum = array_sum($grants);
        $mean = max(1, $sum) / HOSTS;
        [$trips, $part, $least, $most] = [$trips / max(1, $sum), $sum / ($rate * SECONDS), min($grants) / $mean, max($grants) / $mean];
        printf("%d a second, takeAhead %g: %.2f round trips a grant, %.1f %% of the tokens, hosts got %.2f to %.2f of the mean\n", $rate, $ahead, $trips, 100 * $part, $least, $most);
        $missed += $ahead > 0 && ($trips > 1.2 || $part < 0.97 || $least < 0.5 || $most > 2) ? 1 : 0;
    }
}
echo $missed === 0 ? "All targets are met.\n" : "$missed targets are missed.\n";
exit($missed === 0 ? 0 : 1);
