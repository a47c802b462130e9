--TEST--
Userland storages get identifiers of any bytes unchanged, and later changes of a string change no bucket
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$long = str_repeat('0123456789abcdef', 65536);
$identifiers = [
    '', "\0", "\0\0", 'a', "a\0", "\0a", 'A', 'a ', ' a', "a\n", 'a/b', "a\0b", "a\0c", 'ab',
    "\xff", "\xff\xfe", "\xc3\xa4", "a\xcc\x88", "\xe4", "0", "00", "0.0", "-0", 'null',
    $long, $long . 'x', 'x' . $long, substr($long, 1), str_repeat('a', 255), str_repeat('a', 256),
    str_repeat('a', 257), "'; DROP TABLE buckets", '*', '%', 'a:b', 'tokenbucket:a',
];
echo "-- userland storages get identifiers unchanged --\n";
$storage = new ArrayStorage;
foreach ($identifiers as $identifier) {
    (new TokenBucket($storage, $identifier, 100, 1))->consume();
}
var_dump(array_map('strval', array_keys($storage->rows)) === $identifiers);
echo "-- changes of the caller's string do not change the bucket --\n";
$name = str_repeat('n', 10);
$bucket = new TokenBucket(new TokenBucketStorageMemory, $name, 5, 1);
$bucket->consume(2);
$name .= 'more';
$name[0] = 'X';
var_dump($bucket->peek()->remaining, $name);
?>
--EXPECT--
-- userland storages get identifiers unchanged --
bool(true)
-- changes of the caller's string do not change the bucket --
float(3)
string(14) "Xnnnnnnnnnmore"
