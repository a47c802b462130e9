--TEST--
Processes that compete for permits never hold more than the limit
--EXTENSIONS--
pcntl
--SKIPIF--
<?php require __DIR__ . '/../../tools/testkit/php/skip_slow.php'; ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\ConcurrencyLimit;

const PROCESSES = 6;
const TURNS = 300;

$log = temporary_folder() . '/log';

/**
 * Returns the most permits that were held at once, and the number of permits. Each process writes
 * "+" after it was granted and "-" before it releases, so the log never shows more permits than
 * were held.
 */
$race = function (int $limit) use ($log): array {
    file_put_contents($log, '');
    in_processes(PROCESSES, function (int $index, callable $barrier) use ($limit, $log) {
        $file = fopen($log, 'a');
        $storage = new TokenBucketStorageSharedMemory;
        $barrier();
        for ($turn = 0; $turn < TURNS; $turn++) {
            // The first process uses a smaller limit, which counts the permits of the others.
            $permit = (new ConcurrencyLimit($storage, "x $limit", $index === 0 ? 1 : $limit))->acquire(600);
            check($permit->decision->allowed, $permit->decision->reason);
            fwrite($file, '+');
            usleep(200);
            fwrite($file, '-');
            $turn % 2 ? $permit->release() : $permit = null;
        }
    });
    $held = $most = $all = 0;
    foreach (str_split(file_get_contents($log)) as $sign) {
        $held += $sign === '+' ? 1 : -1;
        $all += (int) ($sign === '+');
        $most = max($most, $held);
    }
    check((new ConcurrencyLimit(new TokenBucketStorageSharedMemory, "x $limit", $limit))->held() === 0, 'all were released');
    return [$most, $all];
};
foreach ([1, 2, 3] as $limit) {
    [$most, $all] = $race($limit);
    check($most <= $limit && $all === PROCESSES * TURNS, "limit $limit: $most were held at once, $all in all");
}
// The control: the log shows when more than three permits are held.
[$most] = $race(PROCESSES);
check($most > 3 && $most <= PROCESSES, "without a limit: $most were held at once");
$permits = TokenBucket\status()['permits'];
print_values($permits['held'], $permits['foreign'], $permits['taken_back']);
?>
--EXPECT--
0 0 0
