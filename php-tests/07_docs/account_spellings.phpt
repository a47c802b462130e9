--TEST--
The names by which a database finds an account give five guesses in all
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

preg_match('/^```php\n(use TokenBucket.*?)^\$storage/ms', file_get_contents(__DIR__ . '/../../docs/how-to/lock-out-guesses.md'), $page);
eval($page[1]);
$verified = function (array $names): int {
    [$storage, $verified] = [new TokenBucketStorageMemory, 0];
    for ($i = 0; $i < 40; $i++) {
        log_in($storage, "192.0.2.$i", $names[$i % count($names)], function () use (&$verified) {
            $verified++;
            return false;
        });
    }
    return $verified;
};
print_values($verified(['josé']), $verified(['josé', 'JOSÉ', 'jose', 'jôse', 'ĵosé', ' josé', "josé\t "]));
echo "-- the control: other accounts --\n";
print_values($verified(['jose', 'josef', '42', '43']));
?>
--EXPECT--
5 5
-- the control: other accounts --
20
