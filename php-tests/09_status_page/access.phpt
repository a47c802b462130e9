--TEST--
The status page denies by default, and lets in only the allowed addresses and the right password
--SKIPIF--
<?php require __DIR__ . '/../08_guard/skip_nginx.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/site.inc.php';

$site = new Site();
$hash = password_hash('secret', PASSWORD_BCRYPT, ['cost' => 4]);
$addresses = fn (string ...$list) => ['ALLOWED_ADDRESSES = []' => 'ALLOWED_ADDRESSES = ' . var_export($list, true)];
// On a slow machine, the next of ten tries a minute could come during the test.
$password = ['PASSWORD_HASH = \'\'' => "PASSWORD_HASH = '$hash'", '10, 10 / \TokenBucket::MINUTE' => '10, 10 / \TokenBucket::DAY'];
$site->page('unconfigured', []);
$site->page('addresses', $addresses('127.0.0.2', '127.1.0.0/16', '2001:db8::/32'));
$site->page('password', $password);
$site->page('both', [...$addresses('127.0.0.1'), ...$password]);
$login = fn (string $word) => ['Authorization: Basic ' . base64_encode("any:$word")];

$shows = function (string $what, string $page, int $expected, array $headers = [], string $from = '127.0.0.1') use ($site): void {
    [$status, $sent, $body] = $site->get($page, $headers, $from);
    $leaks = preg_match('/since the start|Slots in use/', $body) === 1;
    check($status === $expected && $leaks === ($expected === 200), "$what: $status");
    check(str_contains($sent, 'Cache-Control: no-store'), "$what may be cached");
};
$shows('the page as it is', 'unconfigured', 403);
$shows('with a password', 'unconfigured', 403, $login('secret'));
check(str_contains($site->get('unconfigured')[2], 'ALLOWED_ADDRESSES or PASSWORD_HASH'), 'the text says how to configure the page');

$shows('an address', 'addresses', 200, [], '127.0.0.2');
$shows('a network', 'addresses', 200, [], '127.1.2.3');
$shows('another address', 'addresses', 403);
foreach (['X-Forwarded-For: 127.0.0.2', 'Forwarded: for=127.0.0.2', 'X-Real-IP: 127.0.0.2', 'Via: 1.1 proxy', 'X-Forwarded-Proto: https', 'CF-Connecting-IP: 127.0.0.2'] as $header) {
    $shows("behind a proxy, $header", 'addresses', 403, [$header], '127.0.0.2');
    $shows("from elsewhere, $header", 'addresses', 403, [$header]);
}

$shows('no password', 'password', 401);
check(str_contains($site->get('password')[1], 'WWW-Authenticate: Basic '), 'asks for the password');
$shows('the password', 'password', 200, $login('secret'), '127.0.0.3');
$shows('the password behind a proxy', 'password', 200, [...$login('secret'), 'X-Forwarded-For: 192.0.2.1'], '127.0.0.3');
$shows('a wrong password', 'password', 401, $login('wrong'), '127.0.0.3');
$shows('an empty password', 'password', 401, $login(''), '127.0.0.3');
$shows('both', 'both', 200, $login('secret'));
$shows('both, wrong password', 'both', 401, $login('wrong'));
$shows('both, wrong address', 'both', 403, $login('secret'), '127.0.0.2');

// 127.0.0.3 has sent one wrong password. PHP does not pass an empty password to the page.
array_map(fn (int $try) => $site->get('password', $login("guess $try"), '127.0.0.3'), range(1, 9));
$shows('too many tries', 'password', 429, $login('secret'), '127.0.0.3');
check(preg_match('/^Retry-After: 8[0-6]\d\d$/m', $site->get('password', $login('secret'), '127.0.0.3')[1]) === 1, 'Retry-After');
$shows('another address may try', 'password', 200, $login('secret'), '127.0.0.4');
check(!preg_match('/Warning|Notice|Deprecated|Fatal/', $site->log()), $site->log());

$csp = $site->get('addresses', [], '127.0.0.2');
$other = $site->get('addresses', [], '127.0.0.2');
preg_match("/^Content-Security-Policy: default-src 'none'; style-src 'nonce-([^']{20,})'; img-src data:; /m", $csp[1], $nonce);
check(isset($nonce[1]) && substr_count($csp[2], "nonce=\"$nonce[1]\"") === 1, 'the policy allows the inline style');
check(!str_contains($other[1], $nonce[1] ?? ''), 'each reply has its own nonce');
echo "Done.\n";
?>
--EXPECT--
Done.
