--TEST--
The status page compares addresses, and writes any bytes as text
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

// Defines the functions, without the code that replies to a request.
$code = strstr(file_get_contents(__DIR__ . '/../../examples/status.php'), "\n\$refusal = ", true);
eval(substr($code, strlen('<?php')));
use function TokenBucket\StatusPage\{duration, is_within, rate, text};

$networks = [
    ['192.0.2.7', '192.0.2.7', true], ['192.0.2.7', '192.0.2.8', false], ['192.0.2.7', '192.0.2.70', false],
    ['10.1.2.3', '10.0.0.0/8', true], ['11.1.2.3', '10.0.0.0/8', false], ['10.1.2.3', '10.1.2.2/31', true],
    ['10.1.2.4', '10.1.2.2/31', false], ['10.1.2.3', '0.0.0.0/0', true], ['2001:db8::1', '0.0.0.0/0', false],
    ['2001:db8:1::1', '2001:db8:1::/48', true], ['2001:db8:2::1', '2001:db8:1::/48', false], ['2001:DB8::1', '2001:db8:0::1', true],
    // A dual-stack socket writes IPv4 addresses as IPv6.
    ['::ffff:10.1.2.3', '10.0.0.0/8', true], ['::ffff:11.1.2.3', '10.0.0.0/8', false], ['::1', '127.0.0.1', false],
    // Nothing is within an invalid network.
    ['10.1.2.3', '10.0.0.0/', false], ['10.1.2.3', '10.0.0.0/x', false], ['10.1.2.3', "10.0.0.0/8\n", false], ['10.1.2.3', '10.0.0.0/-1', false],
    ['10.1.2.3', '', false], ['10.1.2.3', '/0', false], ['10.1.2.3', 'localhost', false], ['', '', false], ['', '0.0.0.0/0', false],
    ['unix:', '0.0.0.0/0', false],
];
foreach ($networks as [$address, $network, $expected]) {
    check(is_within($address, $network) === $expected, json_encode([$address, $network]));
}

$texts = [
    'plain text' => 'plain text', 'Müller 東京' => 'Müller 東京', '<b a="x" b=\'y\'>&' => '&lt;b a=&quot;x&quot; b=&#039;y&#039;&gt;&amp;',
    "a\0b\r\n\t\x1b\x7f" => 'a\x00b\x0d\x0a\x09\x1b\x7f', "\xff<ü" => '\xff&lt;\xc3\xbc', "\u{202e}cod" => '\xe2\x80\xaecod', "\u{2028}" => '\xe2\x80\xa8',
    "\u{200b}" => '\xe2\x80\x8b', "\u{e000}" => '\xee\x80\x80', '' => '',
];
foreach ($texts as $bytes => $html) {
    check(text($bytes) === $html, json_encode([bin2hex($bytes), text($bytes)]));
}
for ($byte = 0; $byte < 256; $byte++) {
    $html = text('a' . chr($byte) . 'b');
    check(preg_match('/^a(&[a-z0-9#]+;|\\\\x[0-9a-f]{2}|[^<>&"\'\x00-\x1f\x7f-\xff])b$/D', $html) === 1, "byte $byte: $html");
}

foreach ([[0, '0'], [0.004, '0.00'], [9.994, '9.99'], [10, '10.0'], [99.94, '99.9'], [1234.5, '1,235']] as [$number, $expected]) {
    check(rate($number) === $expected, "$number: " . rate($number));
}
foreach ([[0, '0 s'], [0.000_012, '12 µs'], [0.05, '50 ms'], [1.5, '1.5 s'], [119, '119 s'], [600, '10 minutes'], [7_300, '2 hours'], [200_000, '2.3 days']] as [$seconds, $expected]) {
    check(html_entity_decode(duration($seconds)) === strtr($expected, [' ' => "\u{a0}"]), "$seconds: " . duration($seconds));
}
echo "Done.\n";
?>
--EXPECT--
Done.
