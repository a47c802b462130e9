--TEST--
Under php-fpm: after a reload, permits work as before
--SKIPIF--
<?php require __DIR__ . '/../03_php_fpm/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/fpm.php';

$fpm = new Fpm(['www' => ['pm.max_children' => 2]]);
$hold = $fpm->script('hold', <<<'PHP'
    <?php
    $permit = (new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1))->acquire();
    file_put_contents($_GET['noted'], getmypid());
    sleep(600);
    PHP);
$look = $fpm->script('look', <<<'PHP'
    <?php
    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1);
    $permit = $limit->acquire();
    $permits = TokenBucket\status()['permits'];
    echo json_encode([$permit->decision->reason, $permit->renew(), $permits['foreign'], $permits['unavailable']]);
    PHP);
$noted = "$fpm->folder/noted";
/** Sends a request that holds the permit, and returns the ids of its client and of its worker. */
$begin = function () use ($fpm, $hold, $noted): array {
    file_put_contents($noted, '');
    chmod($noted, 0666);
    $client = pcntl_fork();
    if ($client === 0) {
        $fpm->get($hold, ['noted' => $noted]);
        send_signal('KILL', getmypid());
    }
    wait_for('a worker holds the permit', fn () => file_get_contents($noted) !== '');
    return [$client, (int) file_get_contents($noted)];
};
for ($reload = 0; $reload < 2; $reload++) {
    [$client, $worker] = $begin();
    echo $fpm->get($look), "\n";
    // The master ends the worker, and executes its own program again.
    $fpm->reload();
    pcntl_waitpid($client, $status);
    check(!in_array($worker, $fpm->workers(), true), 'the worker has ended');
    echo $fpm->get($look), "\n";
    [$client, $worker] = $begin();
    echo $fpm->get($look), "\n";
    send_signal('KILL', $worker);
    wait_for('the worker is gone', fn () => !in_array($worker, $fpm->workers(), true));
    pcntl_waitpid($client, $status);
    echo $fpm->get($look), "\n";
}
$fpm->stop();
?>
--EXPECT--
["too_many_concurrent",false,0,null]
["granted",true,0,null]
["too_many_concurrent",false,0,null]
["granted",true,0,null]
["too_many_concurrent",false,0,null]
["granted",true,0,null]
["too_many_concurrent",false,0,null]
["granted",true,0,null]
