--TEST--
Fuzz of INI settings: PHP starts, warns about each invalid value, and limits calls
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$folder = temporary_folder();
file_put_contents("$folder/foreign", 'not ours');
symlink("$folder/foreign", "$folder/link");
chmod("$folder/foreign", 0600);

$any = fn (array $values): string => (string) $values[mt_rand(0, count($values) - 1)];
$text = function (): string {
    // Leaves out bytes that end a value or that the command line interprets.
    $bytes = array_map('chr', [...range(32, 33), ...range(37, 91), ...range(93, 126), ...range(128, 255), 9]);
    shuffle($bytes);
    return implode('', array_slice($bytes, 0, mt_rand(0, 20)));
};
$settings = fn (): array => array_filter([
    'shm_size' => $any(['4K', '1M', '1m', ' 64K ', '', '0', '-1', '4095', '4096', 'K', '1KK', '1.5M', '0x10', '257G', '18446744073709551615', '18446744073709551616G', '+8K', $text()]),
    'shm_path' => $any(['', '', "$folder/segment", "$folder/foreign", "$folder/link", "$folder", "$folder/", "$folder/no/such", 'relative', '.', '/', '/dev/null', "$folder/" . str_repeat('x', 300)]),
    'shm_mode' => $any(['0600', '600', '0660', '0777', '0', '', '01777', '-600', '0o600', '99999999999', 'rw', $text()]),
    'shm_group' => $any(['', 'root', '0', '-1', '4294967296', 'no such group', str_repeat('g', 5000), $text()]),
    'shm_full' => $any(['evict', 'refuse', 'EVICT', '', '1', $text()]),
    'track_identifiers' => $any(['0', '1', 'on', 'OFF', '2', '-1', $text()]),
    'guard' => $any(['', 'ip 1/second name a', 'on /x,/y all 9/day leave 3 on GET /z name b; all concurrent 4 leave 4 on /z', 'ip 1/second', 'ip+path 100/minute burst 20; header:X-Y 1/day', 'ip', ';', 'ip 0/day', $text()]),
    'guard_local' => $any(['host 5/hour', 'path 1/week', $text()]),
    'guard_trusted_proxies' => $any(['10.0.0.0/8, ::1', '10.0.0.0/33', $text()]),
    'guard_allow' => $any(['::/0', '1.2.3', $text()]),
    'guard_headers' => $any(['0', '1', 'on', 'OFF', '', '2', $text()]),
    'guard_mode' => $any(['observe', 'enforce', '', $text()]),
    'namespace' => $any(['', 'a', str_repeat('n', 5000), "\xff", $text()]),
], fn () => mt_rand(0, 4) === 0);

$code = <<<'PHP'
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, uniqid("", true), 2, 0.001);
echo "granted ", $bucket->consume() + $bucket->consume() + $bucket->consume(), ", ", TokenBucket\status()["shared_memory"]["full"], "\n";
PHP;
mt_srand(20261121);
$well = 0;
for ($i = 0, $rounds = is_slow() ? 5 : 60; $i < $rounds; $i++) {
    $ini = [];
    foreach ($settings() as $name => $value) {
        $ini["tokenbucket.$name"] = $value;
    }
    $lines = explode("\n", trim(php_run($code, $ini)));
    $shown = json_encode($ini, JSON_INVALID_UTF8_SUBSTITUTE);
    check(preg_match('/^granted 2, (evict|refuse)$/', array_pop($lines)) === 1, "$shown: " . implode("\n", $lines));
    $warnings = array_filter($lines, fn ($line) => trim($line) !== '');
    foreach ($warnings as $warning) {
        check(str_starts_with($warning, 'Warning: tokenbucket: '), "$shown: $warning");
    }
    check(count($warnings) <= count($ini), "$shown: " . implode("\n", $warnings));
    $well += $warnings === [] ? 1 : 0;
    check(file_get_contents("$folder/foreign") === 'not ours' && is_link("$folder/link"), "$shown: a foreign file is left alone");
}
check(is_slow() || $well > 5 && $well < $rounds - 5, "some are fine, some are not: $well");
echo "done\n";
?>
--EXPECT--
done
