--TEST--
Under Apache prefork: children share a bucket exactly, and status() covers all children
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

$apache = new Apache;
$consume = $apache->script('consume', CONSUME);
$status = $apache->script('status', '<?php echo json_encode(TokenBucket\status()["shared_memory"]);');

for ($round = 1; $round <= 3; $round++) {
    $traffic = Traffic::of(8, 200, fn () => $apache->get($consume, ['id' => "round $round", 'capacity' => 1000]));
    check($traffic->granted === 1000, "$traffic->granted granted of 1000");
    check($traffic->denied === 600 && $traffic->lost === 0, "$traffic->denied denied, $traffic->lost lost");
    check(count($traffic->workers) === 4, 'served by ' . count($traffic->workers) . ' of 4 children');

    $counters = json_decode($apache->get($status), true);
    check($counters['granted'] === 1000 * $round, "status() knows of $counters[granted] grants");
    check($counters['denied'] === 600 * $round, "status() knows of $counters[denied] denials");
}

// Control: with the same traffic, a limiter that is not exact grants too much.
$racing = $apache->script('racing', RACING);
$traffic = Traffic::of(8, 200, fn () => $apache->get($racing, ['capacity' => 1000]));
check($traffic->granted > 1000, "the racing limiter granted only $traffic->granted");
check(!str_contains($apache->log(), 'tokenbucket.'), $apache->log());
echo "Done.\n";
?>
--EXPECT--
Done.
