--TEST--
Under Apache prefork: children that are killed or replaced lose at most one token each
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/traffic.inc.php';

const CAPACITY = 100_000;
const KILLS = 6;

// Apache starts new children once per second.
$apache = new Apache(directives: ['MaxConnectionsPerChild' => 50, 'MinSpareServers' => 4]);
$consume = $apache->script('consume', CONSUME);
$traffic = Traffic::of(8, 50, fn () => $apache->get($consume, ['id' => 'x', 'capacity' => 300]));
check($traffic->granted === 300, "$traffic->granted granted of 300");
check($traffic->denied === 100 && $traffic->lost === 0, "$traffic->denied denied, $traffic->lost lost");
check(max($traffic->workers) <= 50, 'a child answered ' . max($traffic->workers));

$apache = new Apache(directives: ['MinSpareServers' => 4]);
$noted = "$apache->folder/noted";
touch($noted);
chmod($noted, 0666);
$over = "$apache->folder/over";
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
$get = fn (int $tries) => $apache->get($work, ['capacity' => CAPACITY, 'tries' => $tries]);
$lost = array_sum(in_processes(5, function (int $index) use ($apache, $get, $over) {
    if ($index === 0) {
        for ($kills = 0; $kills < KILLS; usleep(2_000)) {
            $workers = $apache->workers();
            if ($workers !== []) {
                send_signal('KILL', $workers[array_rand($workers)]);
                $kills++;
            }
        }
        touch($over);
        return 0;
    }
    for ($lost = 0; !file_exists($over);) {
        $lost += $get(2_000) === null ? 1 : 0;
    }
    return $lost;
}));
check($lost > 0 && $lost <= KILLS, "$lost requests lost with " . KILLS . ' children');

clearstatcache();
check(filesize($noted) < CAPACITY, 'tokens were left when the last child was killed');
check($get(CAPACITY + 1) !== null, 'the service goes on');
clearstatcache();
$granted = filesize($noted);
check($granted <= CAPACITY && $granted >= CAPACITY - $lost, "$granted granted, $lost requests lost");
check($get(1) === '0', 'nothing is left');
echo "Done.\n";
?>
--EXPECT--
Done.
