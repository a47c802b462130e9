--TEST--
Random histories have the same decisions as with the extension, to the bit
--SKIPIF--
<?php
require __DIR__ . '/child.php';
has_extension() || die('skip needs TOKENBUCKET and PHP_OF_EXTENSION');
?>
--FILE--
<?php
require __DIR__ . '/child.php';

for ($seed = 1; $seed <= 8; $seed++) {
    $expected = explode("\n", with_extension(__DIR__ . '/history.inc.php', (string) $seed, '1000'));
    $lines = explode("\n", with_polyfill(__DIR__ . '/history.inc.php', (string) $seed, '1000'));
    foreach ($expected as $number => $line) {
        if ($line !== ($lines[$number] ?? 'nothing')) {
            echo "seed $seed, line $number\nextension $line\npolyfill  ", $lines[$number] ?? 'nothing', "\n";
            break;
        }
    }
    $calls[$seed] = count($lines);
}
echo min($calls) > 1800 ? "all calls were compared\n" : json_encode($calls) . "\n";
echo "-- the control: another seed --\n";
$other = explode("\n", with_polyfill(__DIR__ . '/history.inc.php', '9', '1000'));
echo $other === $lines ? 'missed' : 'found', "\n";
?>
--EXPECT--
all calls were compared
-- the control: another seed --
found
