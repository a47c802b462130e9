<?php
/**
 * Kills php-fpm workers that share one bucket, and compares the granted tokens with the bound.
 *
 * Every request takes one token. Exits with 1 if more tokens were granted than capacity and rate
 * allow, or fewer than were available.
 */
require __DIR__ . '/../tools/bench/measure.inc.php';
require __DIR__ . '/../tools/testkit/php/fpm.php';
require __DIR__ . '/../tools/testkit/php/userland_apcu.php';

const CAPACITY = 5_000;
const RATE = 500;
const SECONDS = 10;
const WORKERS = 6;
const CLIENTS = 8;
const KILLS_A_SECOND = 10;
/** The number of grants after which the bucket is never full again under this load. */
const BEGUN = 100;

/** Runs a client that sends one request after another until $end. All times are in nanoseconds. */
function send(Fpm $fpm, string $script, int $end): array
{
    $sent = ['granted' => 0, 'denied' => 0, 'lost' => 0, 'first' => hrtime(true), 'begun' => [], 'last_denial' => 0, 'workers' => []];
    do {
        $asked = hrtime(true);
        [$answer, $worker] = explode(' ', ($fpm->get($script) ?? 'lost') . ' ');
        $sent['last'] = hrtime(true);
        $sent[$answer]++;
        $sent['workers'][$worker] = true;
        if ($answer === 'denied') {
            $sent['last_denial'] = $asked;
        } elseif ($answer === 'granted' && count($sent['begun']) < BEGUN) {
            $sent['begun'][] = $sent['last'];
        }
    } while ($sent['last'] < $end);
    return $sent;
}

/** Kills workers until $end and prints the extension's counters. Returns the number of kills. */
function kill(Fpm $fpm, string $status, int $end): int
{
    $killed = 0;
    $start = hrtime(true);
    while (hrtime(true) < $end) {
        for ($i = 0; $i < KILLS_A_SECOND && hrtime(true) < $end; $i++) {
            usleep(intdiv(1_000_000, KILLS_A_SECOND));
            $workers = $fpm->workers();
            if ($workers !== []) {
                send_signal('KILL', $workers[array_rand($workers)]);
                $killed++;
            }
        }
        // Repeats the request if its worker was killed.
        while (($counted = $fpm->get($status)) === null) {
        }
        printf("  after %4.1f s  %s, %5d workers killed\n", (hrtime(true) - $start) / 1e9, $counted, $killed);
    }
    return $killed;
}

/** Prints one figure. */
function line(string $name, int|float $value, string $remark = ''): void
{
    printf("  %-22s %10s  %s\n", $name, number_format($value), $remark);
}

/** Prints the time of a call, compared with the published userland bucket on APCu. */
function costs(): void
{
    $ours = fn (string $name, int $capacity, float $rate) => new TokenBucket(new TokenBucketStorageSharedMemory, $name, $capacity, $rate);
    $apcu = fn (string $name, int $capacity, float $rate) => new UserlandTokenBucket(new ApcuStorage, $name, $capacity, $rate);
    $row = fn (string $name, TokenBucket|UserlandTokenBucket $bucket) => new Row($name, '$bucket->consume(1)', ['bucket' => $bucket]);
    $loop = new Row('loop', '');
    $pairs = [
        [$row('granted', $ours('full', 1_000_000_000, 1)), $row('', $apcu('full', 1_000_000_000, 1))],
        [$row('denied', $ours('empty', 1, 1e-6)), $row('', $apcu('empty', 1, 1e-6))],
    ];
    sample_shuffled([$loop, ...array_merge(...$pairs)], 300, 1, 0.5);
    $median = fn (Row $row): float => of_rounds($row->samples)[0];
    echo "\nconsume(1), median of 300 interleaved rounds:\n";
    foreach ($pairs as [$mine, $theirs]) {
        [$ns, $theirs_ns] = [$median($mine) - $median($loop), $median($theirs) - $median($loop)];
        printf("  %-9s %6.0f ns   the userland bucket on APCu %7.0f ns   %.0f times as fast\n", $mine->name, $ns, $theirs_ns, $theirs_ns / $ns);
    }
}

$fpm = new Fpm(['www' => ['pm.max_children' => WORKERS]], arguments: $argv[1]);
$consume = $fpm->script('consume', sprintf(<<<'PHP'
    <?php
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'demo', %d, %d);
    echo $bucket->consume(1) ? 'granted' : 'denied', ' ', getmypid();
    PHP, CAPACITY, RATE));
$status = $fpm->script('status', <<<'PHP'
    <?php
    $memory = TokenBucket\status()['shared_memory'];
    printf('%6d granted, %7d denied', $memory['granted'], $memory['denied']);
    PHP);

printf("php-fpm with %d workers; %d clients; one bucket; kill -9 for a worker %d times a second\n\n", WORKERS, CLIENTS, KILLS_A_SECOND);
$end = hrtime(true) + SECONDS * 1_000_000_000;
$results = in_processes(CLIENTS + 1, fn (int $index) => $index === 0 ? kill($fpm, $status, $end) : send($fpm, $consume, $end));
$killed = array_shift($results);
$fpm->stop();

$sum = fn (string $what): int => array_sum(array_column($results, $what));
[$granted, $denied, $lost] = [$sum('granted'), $sum('denied'), $sum('lost')];
$elapsed = (max(array_column($results, 'last')) - min(array_column($results, 'first'))) / 1e9;
$bound = (int) floor(CAPACITY + RATE * $elapsed);
// Between the 100th grant and the last denial the bucket was never full, so no refilled token was
// lost. At the last denial the bucket was empty.
$begun = array_merge(...array_column($results, 'begun'));
sort($begun);
$there = (int) floor(CAPACITY + RATE * (max(array_column($results, 'last_denial')) - $begun[BEGUN - 1]) / 1e9) - 1;

echo "\n";
line('capacity', CAPACITY, 'tokens');
line('rate', RATE, 'tokens a second');
line('requests sent', $granted + $denied + $lost, sprintf('in %.2f s, answered by %d workers', $elapsed, count(array_replace(...array_column($results, 'workers')))));
line('granted', $granted);
line('denied', $denied);
line('workers killed', $killed, 'by kill -9');
line('requests lost', $lost, 'with their worker, each with at most one token');
line('bound', $bound, 'capacity + rate * elapsed');
line('excess', max(0, $granted - $bound), 'granted beyond the bound');
line('missing', max(0, $there - $granted - $lost), "of $there available tokens, without those of lost requests");
costs();

$exact = $granted <= $bound && $granted + $lost >= $there && $lost <= $killed;
echo $exact ? "\nExact: not one token too many or too few.\n" : "\nNOT EXACT.\n";
exit($exact ? 0 : 1);
