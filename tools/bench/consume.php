<?php
/**
 * Compares TokenBucket in shared memory with apcu_inc(), with PHP's own overhead and with a bucket
 * in userland.
 *
 * Only the time of the empty loop is subtracted from each row. Ratios are computed round by round,
 * because a busy machine slows down both sides of a round.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/../testkit/php/userland_apcu.php';
require __DIR__ . '/../testkit/php/processes.php';

const ROUNDS = 300;
const KEYS = 1 << 20;

final class Nothing
{
    public function nothing()
    {
    }
}

final class EmptyStorage
{
    public function __construct(private string $namespace)
    {
    }
}

final class EmptyBucket
{
    public function __construct(private object $storage, private string $identifier, private float $capacity, private int $rate)
    {
    }

    public function consume(int $tokens): bool
    {
        return true;
    }
}

/** Prints and saves rows that were measured together. */
function report_rows(string $title, array $rows, array $targets = []): void
{
    Record::title($title);
    printf("\n%-44s %9s %17s %12s\n", $title, 'median ns', 'p10 to p90', 'x apcu_inc');
    foreach ($rows as $name => $row) {
        $figures = figures_beside_apcu($row, $name === 'loop' ? 0 : $rows['loop']->median(), $rows);
        $target = '';
        if (isset($targets[$name])) {
            $figures += ['target' => $targets[$name], 'met' => $figures['ratio'][0] <= $targets[$name]];
            $target = sprintf('  target %.2f: %s', $figures['target'], $figures['met'] ? 'met' : 'MISSED');
        }
        printf("%-44s %9.1f %8.1f %8.1f %12.3f%s\n", $row->name, ...[...$figures['ns'], $figures['ratio'][0], $target]);
        Record::row($row->name, $figures);
    }
}

/**
 * Returns the figures of a row.
 *
 * @return array<string, mixed> the time of the row minus $less nanoseconds, and the ratio to
 *         apcu_inc() without the loop
 */
function figures_beside_apcu(Row $row, float $less, array $rows): array
{
    $parts = [0.5, 0.1, 0.9];
    $loop = $rows['loop']->median();
    return [
        'ns' => array_map(fn (float $nanos) => $nanos - $less, quantiles($row->samples, $parts)),
        'beside' => $rows['apcu_inc']->name,
        'beside_ns' => array_map(fn (float $nanos) => $nanos - $loop, quantiles($rows['apcu_inc']->samples, $parts)),
        'ratio' => quantiles($row->ratios($rows['apcu_inc'], $loop), $parts),
    ];
}

/** Reports whether a million buckets fit into the default memory, at 16 bytes a slot. */
function report_memory(array $memory): void
{
    $bytes = ini_parse_quantity(ini_get('tokenbucket.shm_size'));
    $figures = ['live' => $memory['live'], 'slots' => $memory['slots'], 'bytes' => $bytes, 'size' => $memory['size']];
    $met = $memory['live'] >= 1_000_000 && $bytes === 32 << 20 && $bytes / $memory['slots'] <= 16;
    printf("\n%d live buckets in %d slots of %g bytes: %s\n", $memory['live'], $memory['slots'], $bytes / $memory['slots'], $met ? 'met' : 'MISSED');
    Record::title('Memory');
    Record::row('slots of live buckets', $figures + ['target' => '1M live in 32M', 'met' => $met]);
}

/** Samples the rows in two processes at once and merges their samples. */
function in_two_processes(array $rows): void
{
    $measured = in_processes(2, function (int $index, callable $barrier) use ($rows) {
        measure(array_values($rows), intdiv(ROUNDS, 3), $barrier);
        return array_map(fn (Row $row) => [$row->samples, $row->calls], $rows);
    });
    foreach ($rows as $name => $row) {
        $row->samples = array_merge($measured[0][$name][0], $measured[1][$name][0]);
        $row->calls = $measured[0][$name][1] + $measured[1][$name][1];
    }
}

/** Returns the grants and denials since the last call of this function. */
function counted(): array
{
    static $before = ['granted' => 0, 'denied' => 0];
    $now = TokenBucket\status()['shared_memory'];
    $difference = ['granted' => $now['granted'] - $before['granted'], 'denied' => $now['denied'] - $before['denied']];
    $before = $now;
    return $difference;
}

$storage = new TokenBucketStorageSharedMemory;
// The bucket holds a billion tokens, so it is never empty here. At one token a second, its span is
// about 30 years.
$granting = ['bucket' => new TokenBucket($storage, 'granting', 1e9, 1)];
$denying = ['bucket' => new TokenBucket($storage, 'denying', 1, 1e-6)];
$denying['bucket']->consume();
$userland = new ApcuStorage;
$userland_granting = ['bucket' => new UserlandTokenBucket($userland, 'granting', 1e9, 1)];
$userland_denying = ['bucket' => new UserlandTokenBucket($userland, 'denying', 1, 1e-6)];
$userland_denying['bucket']->consume();

printf("PHP %s, tokenbucket %s, apcu %s; %d rounds, all net of the empty loop\n", PHP_VERSION, phpversion('tokenbucket'), phpversion('apcu'), ROUNDS);

$rows = [
    'loop' => new Row('(the empty loop)', ''),
    'internal' => new Row('an empty internal method', '$object->next()', ['object' => new EmptyIterator]),
    'userland' => new Row('an empty userland method', '$object->nothing()', ['object' => new Nothing]),
    'microtime' => new Row('microtime(true)', 'microtime(true)'),
    'apcu_inc' => new Row('apcu_inc()', 'apcu_inc("one")'),
    'granted' => new Row('consume(1), granted', '$bucket->consume(1)', $granting),
    'denied' => new Row('consume(1), denied', '$bucket->consume(1)', $denying),
    'attempt' => new Row('attempt(1), granted', '$bucket->attempt(1)', $granting),
    'attempt_denied' => new Row('attempt(1), denied', '$bucket->attempt(1)', $denying),
    'new' => new Row(
        'new storage, new bucket, consume(1)',
        '(new TokenBucket(new TokenBucketStorageSharedMemory("shop"), "new", 1e9, 1))->consume(1)'
    ),
    // The cost of two objects and one call whose code does nothing.
    'new_internal' => new Row('two new iterators of PHP, one call', '(new LimitIterator(new EmptyIterator, 0, 1))->getPosition()'),
    'new_userland' => new Row('the same calls on empty userland classes', '(new EmptyBucket(new EmptyStorage("shop"), "new", 1e9, 1))->consume(1)'),
    'document' => new Row('userland bucket on APCu, granted', '$bucket->consume(1)', $userland_granting),
    'document_denied' => new Row('userland bucket on APCu, denied', '$bucket->consume(1)', $userland_denying),
];
counted();
measure(array_values($rows), ROUNDS);
$counted = counted();
must(apcu_fetch('one') === $rows['apcu_inc']->calls, 'apcu_inc() did not count');
must($counted['granted'] === $rows['granted']->calls + $rows['attempt']->calls + $rows['new']->calls, 'not all calls were granted');
must($counted['denied'] === $rows['denied']->calls + $rows['attempt_denied']->calls, 'not all calls were denied');
report_rows('One process, one key', $rows, ['granted' => 0.75, 'denied' => 0.75, 'new' => 2.5]);

$rows = [
    'loop' => new Row('(the empty loop)', '', [], 5000),
    'apcu_inc' => new Row('apcu_inc()', 'apcu_inc("two")', [], 5000),
    'granted' => new Row('consume(1), granted', '$bucket->consume(1)', $granting, 5000),
    'denied' => new Row('consume(1), denied', '$bucket->consume(1)', $denying, 5000),
];
in_two_processes($rows);
$counted = counted();
must(apcu_fetch('two') === $rows['apcu_inc']->calls, 'apcu_inc() did not count');
must($counted['granted'] === $rows['granted']->calls && $counted['denied'] === $rows['denied']->calls, 'consume() did not count');
report_rows('Two processes at once, one key', $rows, ['granted' => 0.5]);

for ($i = 0; $i < KEYS; $i++) {
    apcu_store("user:$i", 0);
    (new TokenBucket($storage, "user:$i", 1e9, 1))->consume();
}
$memory = TokenBucket\status()['shared_memory'];
must($memory['live'] > 0.999 * KEYS, 'the table is too small');
report_memory($memory);
// Yields the keys in a pseudo-random order that visits every key before it repeats one.
$key = '"user:" . (++$at * 0x9E3779B1 & ' . (KEYS - 1) . ')';
$rows = fn (int $turns) => [
    'loop' => new Row('(a loop that makes a key)', $key, [], $turns),
    'apcu_inc' => new Row('apcu_inc()', "apcu_inc($key)", [], $turns),
    'new' => new Row(
        'new bucket, consume(1), granted',
        "(new TokenBucket(\$storage, $key, 1e9, 1))->consume(1)",
        ['storage' => $storage],
        $turns
    ),
];
$one = $rows(50);
measure(array_values($one), ROUNDS);
report_rows('One process, ' . number_format(KEYS) . ' keys', $one);
$two = $rows(1000);
in_two_processes($two);
report_rows('Two processes at once, ' . number_format(KEYS) . ' keys', $two);
