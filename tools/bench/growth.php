<?php
/**
 * Compares decisions in shared memory with apcu_inc() as the number of keys grows to ten million.
 *
 * Each call creates the bucket of a key and takes one token. The order of the keys is pseudo-random
 * and visits every key before it repeats one. The time to build the key is subtracted. The shared
 * memory and APCu hold a record for each key before the measurement.
 */
require __DIR__ . '/measure.inc.php';

const ROUNDS = 200;
const NUMBERS = [1, 1_000, 100_000, 1_000_000, 10_000_000];

/** The capacity of the buckets: more tokens than the calls of this program take. */
const MANY = 1e6;
const SLOWLY = 1e-3;

/** Creates records for the keys $from to $to - 1. */
function fill(TokenBucketStorage $storage, int $from, int $to): void
{
    for ($i = $from; $i < $to; $i++) {
        apcu_store("user:$i", 0);
        (new TokenBucket($storage, "user:$i", MANY, SLOWLY))->consume();
    }
    $live = TokenBucket\status()['shared_memory']['live'];
    must($live > 0.9999 * $to, "$live of $to keys have a slot");
    must(apcu_exists('user:' . $to - 1) && apcu_cache_info(true)['num_entries'] === $to, 'APCu does not hold all keys');
}

/** @return array<string, Row> */
function rows(TokenBucketStorage $storage, int $keys): array
{
    // The factor is odd and not a multiple of five, so every key comes before a key repeats.
    $key = "'user:' . (++\$at * 0x9E3779B1 % $keys)";
    return [
        'loop' => new Row('(a loop that makes a key)', $key),
        'apcu_inc' => new Row('apcu_inc()', "apcu_inc($key)"),
        'new' => new Row('new bucket, consume(1)', "(new TokenBucket(\$storage, $key, MANY, SLOWLY))->consume(1)", ['storage' => $storage]),
    ];
}

/** @param array<string, Row> $rows */
function report_keys(int $keys, array $rows, float $load): void
{
    $parts = [0.5, 0.1, 0.9];
    $loop = $rows['loop']->median();
    $net = fn (Row $row) => array_map(fn (float $nanos) => $nanos - $loop, quantiles($row->samples, $parts));
    [$ours, $floor] = [$net($rows['new']), $net($rows['apcu_inc'])];
    $ratios = quantiles($rows['new']->ratios($rows['apcu_inc'], $loop), $parts);
    printf("%12s %6.3f %9.1f %8.1f %8.1f %9.1f %8.1f %8.1f %8.3f\n", number_format($keys), ...[$load, ...$ours, ...$floor, $ratios[0]]);
    $figures = ['keys' => $keys, 'load' => $load, 'ns' => $ours, 'beside' => 'apcu_inc()', 'beside_ns' => $floor, 'ratio' => $ratios];
    Record::row('new bucket, consume(1), keys: ' . number_format($keys), $figures);
}

$storage = new TokenBucketStorageSharedMemory;
Record::title('Keys');
printf("%d rounds of 1000 keys, net of making them; tokenbucket.shm_size %s, apc.shm_size %s\n", ROUNDS, ini_get('tokenbucket.shm_size'), ini_get('apc.shm_size'));
printf("%12s %6s %27s %27s %8s\n", 'keys', 'load', 'new bucket, consume(1) ns', 'apcu_inc() ns', 'ratio');
$filled = 0;
foreach (NUMBERS as $keys) {
    fill($storage, $filled, $keys);
    $filled = $keys;
    $before = TokenBucket\status()['shared_memory'];
    $rows = rows($storage, $keys);
    measure(array_values($rows), ROUNDS);
    $after = TokenBucket\status()['shared_memory'];
    must($after['granted'] - $before['granted'] === $rows['new']->calls && $after['denied'] === 0, 'not all calls were granted');
    report_keys($keys, $rows, $after['live'] / $after['slots']);
}
