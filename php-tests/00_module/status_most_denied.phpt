--TEST--
TokenBucket\status() lists the most denied identifiers if tracking is on
--INI--
tokenbucket.track_identifiers=1
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageSharedMemory;
$denials = ['polite' => 0, 'keen' => 3, 'rude' => 400, "nul\0byte" => 100, str_repeat('long', 100) => 30];
foreach ($denials as $identifier => $count) {
    $bucket = new TokenBucket($storage, $identifier, 1, 0.001);
    for ($i = 0; $i <= $count; $i++) {
        $bucket->consume();
    }
}
$most = TokenBucket\status()['most_denied'];
print_values(array_is_list($most), array_keys($most[0]));
// Counts are lower bounds, because identifiers that share a counter reduce each other's count.
print_values($most[0]['identifier'], $most[0]['denied'] <= 400, $most[0]['denied'] >= 400 - 133);
$last = INF;
foreach ($most as ['identifier' => $identifier, 'denied' => $denied]) {
    $whole = $identifier === substr(str_repeat('long', 100), 0, strlen($identifier)) ? str_repeat('long', 100) : $identifier;
    check(isset($denials[$whole]) && $denied > 0 && $denied <= $denials[$whole], json_encode([$identifier, $denied]));
    check(strlen($identifier) <= 48 && $denied <= $last, 'cut, and in order');
    $last = $denied;
}
?>
--EXPECT--
true ['store', 'namespace', 'identifier', 'denied']
'rude' true true
