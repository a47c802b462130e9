--TEST--
Under php-fpm: workers share a bucket exactly, and status() covers all workers
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

$fpm = new Fpm(['www' => ['pm.max_children' => 5]]);
$consume = $fpm->script('consume', CONSUME);
$meet = $fpm->script('meet', MEET);
$status = $fpm->script('status', '<?php echo json_encode(TokenBucket\status()["shared_memory"]);');

for ($round = 1; $round <= 3; $round++) {
    $bucket = ['id' => "round $round", 'capacity' => 2500];
    $met = Traffic::of_each(5, $fpm->folder, fn (array $meeting) => $fpm->get($meet, $bucket + $meeting));
    check($met->granted === 5, "$met->granted granted to five workers");
    $traffic = Traffic::of(8, 500, fn () => $fpm->get($consume, $bucket));
    check($traffic->granted === 2495, "$traffic->granted granted of 2495");
    check($traffic->denied === 1505 && $traffic->lost === 0, "$traffic->denied denied, $traffic->lost lost");

    $counters = json_decode($fpm->get($status), true);
    check($counters['granted'] === 2500 * $round, "status() knows of $counters[granted] grants");
    check($counters['denied'] === 1505 * $round, "status() knows of $counters[denied] denials");
    check($counters['live'] === $round, "status() knows of $counters[live] live buckets");
}
check($fpm->workers() != [] && !str_contains($fpm->log(), 'WARNING'), $fpm->log());
echo "Done.\n";
?>
--EXPECT--
Done.
