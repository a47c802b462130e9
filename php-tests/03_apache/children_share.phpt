--TEST--
Under Apache prefork: children share a bucket exactly, and status() covers all children
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

$apache = new Apache;
$consume = $apache->script('consume', CONSUME);
$meet = $apache->script('meet', MEET);
$status = $apache->script('status', '<?php echo json_encode(TokenBucket\status()["shared_memory"]);');

for ($round = 1; $round <= 3; $round++) {
    $bucket = ['id' => "round $round", 'capacity' => 1000];
    $met = Traffic::of_each(4, $apache->folder, fn (array $meeting) => $apache->get($meet, $bucket + $meeting));
    check($met->granted === 4, "$met->granted granted to four children");
    $traffic = Traffic::of(8, 200, fn () => $apache->get($consume, $bucket));
    check($traffic->granted === 996, "$traffic->granted granted of 996");
    check($traffic->denied === 604 && $traffic->lost === 0, "$traffic->denied denied, $traffic->lost lost");

    $counters = json_decode($apache->get($status), true);
    check($counters['granted'] === 1000 * $round, "status() knows of $counters[granted] grants");
    check($counters['denied'] === 604 * $round, "status() knows of $counters[denied] denials");
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
