--TEST--
Under php-fpm: workers killed during traffic lose at most one token each
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/traffic.inc.php';

const CAPACITY = 2_000_000;
const KILLS = 100;

$fpm = new Fpm;
$noted = "$fpm->folder/noted";
touch($noted);
chmod($noted, 0666);
$over = "$fpm->folder/over";
$work = $fpm->script('work', <<<'PHP'
    <?php
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'killed', $_GET['capacity'], 0.01);
    $noted = fopen($_GET['noted'], 'a');
    // Writes a byte right after each grant. So at most one grant of a killed worker has no byte.
    for ($i = 0; $i < $_GET['tries'] && $bucket->consume(); $i++) {
        fwrite($noted, '.');
    }
    echo $i;
    PHP);
$get = fn (int $tries) => $fpm->get($work, ['capacity' => CAPACITY, 'noted' => $noted, 'tries' => $tries]);

$lost = array_sum(in_processes(9, function (int $index) use ($fpm, $get, $over) {
    if ($index === 0) {
        for ($i = 0; $i < KILLS; $i++) {
            usleep(5_000);
            $workers = $fpm->workers();
            if ($workers !== []) {
                send_signal('KILL', $workers[array_rand($workers)]);
            }
        }
        touch($over);
        return 0;
    }
    for ($lost = 0; !file_exists($over);) {
        $lost += $get(300) === null ? 1 : 0;
    }
    return $lost;
}));
check($lost > 0 && $lost <= KILLS, "$lost requests lost with " . KILLS . ' workers');

clearstatcache();
check(filesize($noted) < CAPACITY, 'tokens were left when the last worker was killed');
check($get(CAPACITY + 1) !== null, 'the service goes on');
clearstatcache();
$granted = filesize($noted);
check($granted <= CAPACITY, "$granted granted");
check($granted >= CAPACITY - $lost, "$granted granted, $lost requests lost");
check($get(1) === '0', 'nothing is left');
check(count($fpm->workers()) === 4, 'four workers again');
echo "Done.\n";
?>
--EXPECT--
Done.
