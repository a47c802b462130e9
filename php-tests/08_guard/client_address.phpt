--TEST--
The guard: TokenBucket\client_address() returns the client that the guard counts
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/web_servers.inc.php';

const PROXIES = ['tokenbucket.guard_trusted_proxies' => '10.0.0.0/8 2001:db8:ffff::/48 127.0.0.1'];
$fpm = new Fpm(ini: PROXIES);
$script = $fpm->script('script', '<?php
    $of_request = TokenBucket\client_address();
    $of_array = TokenBucket\client_address($_SERVER);
    $_SERVER["REMOTE_ADDR"] = "198.51.100.66";
    $_SERVER["HTTP_X_FORWARDED_FOR"] = "198.51.100.67";
    echo json_encode($of_request, JSON_UNESCAPED_SLASHES);
    if (TokenBucket\client_address(null) !== $of_request || $of_array !== $of_request) { echo " differs from ", json_encode($of_array); }');
foreach ([
    ['192.0.2.1'], ['::ffff:192.0.2.1'], ['192.0.2.1', '203.0.113.9'], ['10.0.0.1', '203.0.113.9, 10.0.0.2'],
    ['10.0.0.1', '203.0.113.9, nonsense'], ['10.0.0.1'], ['2001:db8:1:2:3::4'], ['2001:db8:ffff::1', '[2001:db8:1:2::9]:443'],
    ['64:ff9b::8.8.8.8'], ['64:ff9b::10.0.0.5', '203.0.113.9'], ['fe80::1%eth0'], ['nonsense'], ['unix:'], [''],
] as $case) {
    [$peer, $forwarded] = $case + [1 => null];
    $variables = ['REMOTE_ADDR' => $peer] + ($forwarded === null ? [] : ['HTTP_X_FORWARDED_FOR' => $forwarded]);
    echo json_encode([$peer, $forwarded], JSON_UNESCAPED_SLASHES), ': ', $fpm->request($script, $variables)['body'], "\n";
}
$fpm->stop();

echo "== each server\n";
with_web_servers(PROXIES, ['index' => '<?php echo TokenBucket\client_address();'], function (string $name, int $port) {
    echo "$name: ", http_request($port, '/index.php', ['X-Forwarded-For: 198.51.100.7, 203.0.113.9'])[1], "\n";
});

echo "== arrays, and the command line\n";
foreach ([null, [], ['REMOTE_ADDR' => ''], ['REMOTE_ADDR' => 5], ['REMOTE_ADDR' => ['192.0.2.1']], ['REMOTE_ADDR' => '192.0.2.1', 'HTTP_X_FORWARDED_FOR' => null]] as $server) {
    echo json_encode(TokenBucket\client_address($server)), ' ';
}
$address = '192.0.2.7';
echo json_encode(TokenBucket\client_address(server: ['REMOTE_ADDR' => &$address])), "\n";
try {
    TokenBucket\client_address('192.0.2.1');
} catch (TypeError $e) {
    echo $e->getMessage(), "\n";
}
?>
--EXPECT--
["192.0.2.1",null]: "192.0.2.1"
["::ffff:192.0.2.1",null]: "192.0.2.1"
["192.0.2.1","203.0.113.9"]: "192.0.2.1"
["10.0.0.1","203.0.113.9, 10.0.0.2"]: "203.0.113.9"
["10.0.0.1","203.0.113.9, nonsense"]: "10.0.0.1"
["10.0.0.1",null]: "10.0.0.1"
["2001:db8:1:2:3::4",null]: "2001:db8:1:2::/64"
["2001:db8:ffff::1","[2001:db8:1:2::9]:443"]: "2001:db8:1:2::/64"
["64:ff9b::8.8.8.8",null]: "8.8.8.8"
["64:ff9b::10.0.0.5","203.0.113.9"]: "64:ff9b::/64"
["fe80::1%eth0",null]: "fe80::/64"
["nonsense",null]: null
["unix:",null]: null
["",null]: null
== each server
nginx and php-fpm: 203.0.113.9
Apache and php-fpm: 203.0.113.9
mod_php: 203.0.113.9
php-cgi: 203.0.113.9
PHP's own web server: 203.0.113.9
== arrays, and the command line
null null null null null "192.0.2.1" "192.0.2.7"
TokenBucket\client_address(): Argument #1 ($server) must be of type ?array, string given
