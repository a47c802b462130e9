--TEST--
Processes that want one, two or all places get them, and take them once
--FILE--
<?php
require getenv('TESTKIT') . '/processes.php';
mkdir($folder = __DIR__ . '/places');
array_map(fn ($name) => touch("$folder/$name"), ['door', 1, 2, 3]);
putenv('TEST_PLACES');
// Counts the places that no process holds.
$free = fn (): int => count(array_filter(glob("$folder/[1-9]"), fn ($place) => flock(fopen($place, 'ce'), LOCK_EX | LOCK_NB)));
print_r(array_count_values(in_processes(12, function (int $index) use ($folder, $free): string {
    putenv("TEST_PLACES=$folder");
    $wanted = 1 + $index % 4;
    take_places($wanted);
    take_places(3);
    $left = $free();
    return $left <= 3 - min(3, $wanted) ? 'enough' : "$wanted wanted, $left left";
})));
echo $free(), " free at the end\n";
?>
--EXPECT--
Array
(
    [enough] => 12
)
3 free at the end
