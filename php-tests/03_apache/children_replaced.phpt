--TEST--
Under Apache prefork: children that are killed or replaced lose at most one token each
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--INI--
opcache.jit=disable
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

const CAPACITY = 10_000_000;
const KILLS = 6;

// Apache starts new children only once per second, so spare children replace those that end.
$apache = new Apache(directives: ['MaxConnectionsPerChild' => 50, 'MinSpareServers' => 4]);
$consume = $apache->script('consume', CONSUME);
$traffic = Traffic::of(8, 50, fn () => $apache->get($consume, ['id' => 'x', 'capacity' => 300]));
check($traffic->granted === 300, "$traffic->granted granted of 300");
check($traffic->denied === 100 && $traffic->lost === 0, "$traffic->denied denied, $traffic->lost lost");
check(max($traffic->workers) <= 50, 'a child answered ' . max($traffic->workers));

$apache = new Apache(directives: ['StartServers' => 8, 'MinSpareServers' => 8, 'MaxRequestWorkers' => 8]);
$noted = "$apache->folder/noted";
touch($noted);
chmod($noted, 0666);
$over = "$apache->folder/over";
$hit = "$apache->folder/hit";
$work = $apache->script('work', <<<'PHP'
    <?php
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'killed', $_GET['capacity'], 0.01);
    $noted = fopen(__DIR__ . '/noted', 'a');
    // Writes a byte right after each grant. So at most one grant of a killed child has no byte.
    for ($i = 0; $i < $_GET['tries'] && $bucket->consume(); $i++) {
        fwrite($noted, '.');
    }
    echo $i;
    PHP);
$rest = $apache->script('rest', <<<'PHP'
    <?php
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory, 'killed', $_GET['capacity'], 0.01);
    $left = (int) $bucket->peek()->remaining;
    echo json_encode([$left, $bucket->consume($left), $bucket->consume()]);
    PHP);
$get = fn (int $tries) => $apache->get($work, ['capacity' => CAPACITY, 'tries' => $tries]);
$counts = in_processes(5, function (int $index) use ($apache, $get, $noted, $over, $hit) {
    if ($index === 0) {
        // On a busy machine, the first children that are killed may have no request. So the test
        // kills children until a request is lost.
        for ($kills = 0; $kills < KILLS || !file_exists($hit) && $kills < 100 * KILLS; usleep(2_000)) {
            $workers = $apache->workers();
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
            if ($get(2_000) === null) {
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
$lost > 0 || inconclusive("no request ran in one of the $kills children that were killed");
check($lost <= $kills, "$lost requests lost with $kills children");

clearstatcache();
check($get(2_000) === '2000', 'the service goes on');
clearstatcache();
[$left, $takes_the_rest, $takes_more] = json_decode($apache->get($rest, ['capacity' => CAPACITY]));
$granted = filesize($noted) + $left;
check($left > 0 && $left < CAPACITY, "$left tokens were left when the last child was killed");
check($granted <= CAPACITY && $granted >= CAPACITY - $lost, "$granted granted or left, $lost requests lost");
check($takes_the_rest && !$takes_more, 'the rest can be taken, and nothing more');
echo "Done.\n";
?>
--EXPECT--
Done.
