--TEST--
Under php-fpm: the permit of a killed worker is taken again by the next request
--SKIPIF--
<?php require __DIR__ . '/../03_php_fpm/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/fpm.php';

const KILLS = 20;

$fpm = new Fpm(['www' => ['pm.max_children' => 3], 'look' => ['pm.max_children' => 1]]);
$work = $fpm->script('work', <<<'PHP'
    <?php
    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1);
    $permit = $limit->acquire();
    if (!$permit->decision->allowed) {
        exit($permit->decision->reason);
    }
    file_put_contents($_GET['noted'], getmypid());
    sleep(600);
    PHP);
$look = $fpm->script('look', <<<'PHP'
    <?php
    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1);
    $reason = $limit->acquire()->decision->reason;
    $permits = TokenBucket\status()['permits'];
    echo json_encode([$reason, $limit->held(), $permits['taken_back'], $permits['foreign']]);
    PHP);
$noted = "$fpm->folder/noted";
$ask = fn (): array => json_decode($fpm->get($look, [], 'look'), true);
for ($kill = 1; $kill <= KILLS; $kill++) {
    file_put_contents($noted, '');
    chmod($noted, 0666);
    $client = pcntl_fork();
    if ($client === 0) {
        $fpm->get($work, ['noted' => $noted]);
        send_signal('KILL', getmypid());
    }
    wait_for('a worker holds the permit', fn () => file_get_contents($noted) !== '');
    // Control: a worker that is stopped is alive, so it keeps its permit.
    $worker = (int) file_get_contents($noted);
    send_signal('STOP', $worker);
    check($ask() === ['too_many_concurrent', 1, $kill - 1, 0], "the permit $kill is held");
    send_signal('KILL', $worker);
    // The kernel drops the worker's lock before the master learns of the death.
    wait_for('the worker is gone', fn () => !in_array($worker, $fpm->workers(), true));
    $after = $ask();
    check($after === ['granted', 0, $kill, 0], "after kill $kill: " . json_encode($after));
    pcntl_waitpid($client, $status);
}
$fpm->stop();
echo "Done.\n";
?>
--EXPECT--
Done.
