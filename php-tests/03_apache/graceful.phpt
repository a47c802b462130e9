--TEST--
Under Apache prefork: a graceful restart refills no bucket and leaves no mapping behind
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

/** Counts the parent's mappings of the segment, its mappings of the module, and its descriptors. */
function held(Apache $apache): array
{
    $maps = preg_grep('/tokenbucket/', file("/proc/$apache->pid/maps"));
    return [count(preg_grep('/memfd/', $maps)), count(preg_grep('/\.so$/', $maps)), count(scandir("/proc/$apache->pid/fd"))];
}

$apache = new Apache;
$consume = $apache->script('consume', CONSUME);
$meet = $apache->script('meet', MEET);
$take = fn () => $apache->get($consume, ['id' => 'x', 'capacity' => 1000]);
check(Traffic::of(4, 100, $take)->granted === 400, 'taken before');
$apache->graceful();
$held = held($apache);
check($held[0] > 0 && $held[1] > 0, 'the parent maps the segment and the module');
check(Traffic::of(4, 100, $take)->granted === 400, 'taken between');
for ($i = 0; $i < 5; $i++) {
    $apache->graceful();
}
check(held($apache) === $held, 'mappings and descriptors: ' . json_encode([$held, held($apache)]));
$last = Traffic::of(4, 100, $take);
check($last->granted === 200 && $last->denied === 200, "$last->granted granted after six restarts, 200 were left");

// Restarts during traffic.
$traffic = Traffic::of(8, 300, fn () => $apache->get($consume, ['id' => 'y', 'capacity' => 1500]), function () use ($apache, $meet) {
    $seen = [];
    for ($i = 0; $i < 4; $i++) {
        $met = Traffic::of_each(4, $apache->folder, fn (array $meeting) => $apache->get($meet, $meeting + ['id' => 'met', 'capacity' => 16]));
        check(array_intersect_key($seen, $met->workers) === [], 'an old child replied after a restart');
        check($met->granted === 4, "$met->granted granted to four children");
        $seen += $met->workers;
        $apache->graceful();
    }
});
check($traffic->granted <= 1500, "$traffic->granted granted of 1500");
check($traffic->granted + $traffic->lost >= 1500, "$traffic->granted granted, $traffic->lost lost");

// Control: a restart starts another parent, which has other buckets.
$apache->restart();
check(str_starts_with($take(), 'granted '), 'a new parent has full buckets');
check(!str_contains($apache->log(), 'tokenbucket.'), $apache->log());
echo "Done.\n";
?>
--EXPECT--
Done.
