--TEST--
Under php-fpm: workers killed during traffic lose at most one token each
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--INI--
opcache.jit=disable
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

const CAPACITY = 10_000_000;
const KILLS = 100;

$fpm = new Fpm;
$noted = "$fpm->folder/noted";
touch($noted);
chmod($noted, 0666);
$over = "$fpm->folder/over";
$hit = "$fpm->folder/hit";
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
$rest = $fpm->script('rest', <<<'PHP'
    <?php
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'killed', $_GET['capacity'], 0.01);
    $left = (int) $bucket->peek()->remaining;
    echo json_encode([$left, $bucket->consume($left), $bucket->consume()]);
    PHP);
$get = fn (int $tries) => $fpm->get($work, ['capacity' => CAPACITY, 'noted' => $noted, 'tries' => $tries]);

$counts = in_processes(9, function (int $index) use ($fpm, $get, $noted, $over, $hit) {
    if ($index === 0) {
        // On a busy machine, the first workers that are killed may have no request. So the test
        // kills workers until a request is lost.
        for ($kills = 0; $kills < KILLS || !file_exists($hit) && $kills < 100 * KILLS;) {
            usleep(5_000);
            $workers = $fpm->workers();
            if ($workers !== []) {
                send_signal('KILL', $workers[array_rand($workers)]);
                $kills++;
            }
        }
        touch($over);
        return $kills;
    }
    for ($lost = 0; !file_exists($over); clearstatcache()) {
        if (filesize($noted) < CAPACITY / 2) {
            if ($get(300) === null) {
                touch($hit);
                $lost++;
            }
        } else {
            usleep(1_000);
        }
    }
    return $lost;
});
$kills = array_shift($counts);
$lost = array_sum($counts);
$lost > 0 || inconclusive("no request ran in one of the $kills workers that were killed");
check($lost <= $kills, "$lost requests lost with $kills workers");

clearstatcache();
check($get(300) === '300', 'the service goes on');
clearstatcache();
[$left, $takes_the_rest, $takes_more] = json_decode($fpm->get($rest, ['capacity' => CAPACITY]));
$granted = filesize($noted) + $left;
check($left > 0 && $left < CAPACITY, "$left tokens were left when the last worker was killed");
check($granted <= CAPACITY && $granted >= CAPACITY - $lost, "$granted granted or left, $lost requests lost");
check($takes_the_rest && !$takes_more, 'the rest can be taken, and nothing more');
wait_for('four workers again', fn () => count($fpm->workers()) === 4);
echo "Done.\n";
?>
--EXPECT--
Done.
