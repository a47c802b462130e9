--TEST--
The guard: addresses in tokenbucket.guard_allow are neither limited nor counted
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

$fpm = new Fpm(ini: [
    'tokenbucket.guard' => 'ip 1/day',
    'tokenbucket.guard_allow' => '198.51.100.0/24 2001:db8::/32',
    'tokenbucket.guard_trusted_proxies' => '10.0.0.1',
]);
$script = $fpm->script('script', SCRIPT);
$forwarded = fn (string $for) => ['REMOTE_ADDR' => '10.0.0.1', 'HTTP_X_FORWARDED_FOR' => $for];
foreach ([
    'allowed' => ['REMOTE_ADDR' => '198.51.100.7'],
    'mapped' => ['REMOTE_ADDR' => '::ffff:198.51.100.7'],
    'IPv6' => ['REMOTE_ADDR' => '2001:db8::1'],
    'behind a proxy' => $forwarded('198.51.100.7'),
    'others' => ['REMOTE_ADDR' => '203.0.113.1'],
    'forged' => $forwarded('198.51.100.7, 203.0.113.2'),
    'forged without a proxy' => ['REMOTE_ADDR' => '203.0.113.3', 'HTTP_X_FORWARDED_FOR' => '198.51.100.7'],
] as $what => $variables) {
    echo "$what: ", statuses($fpm, $script, $variables, $variables, $variables), "\n";
}
echo json_encode(decisions($fpm, 'guard: ip 1/day burst 1')), "\n";
?>
--EXPECT--
allowed: 200 200 200
mapped: 200 200 200
IPv6: 200 200 200
behind a proxy: 200 200 200
others: 200 429 429
forged: 200 429 429
forged without a proxy: 200 429 429
{"granted":3,"denied":6}
