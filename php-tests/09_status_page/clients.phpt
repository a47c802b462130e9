--TEST--
The status page frees and blocks a client of the guard by a form with a password and a token
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/site.inc.php';
require __DIR__ . '/../08_guard/operator.inc.php';

const PAGE = 'status?client';
$ini = ['tokenbucket.guard' => 'on /limited ip 2/day block 1 day; ip+path 5000/day; all 9000/day', 'tokenbucket.guard_allow' => '127.0.0.9'];
$hash = ['tokenbucket.guard_password_hash' => password_hash_of('right')];

/** Returns the statuses of requests of a client. */
$limited = fn (Site $site, string $from, int $count = 1): string => implode(' ', array_map(fn () => $site->get('limited', [], $from)[0], range(1, $count)));
/** Returns the sentence of a reply, and its status. */
$said = function (array $reply): string {
    [$status, , $body] = $reply;
    preg_match('~<p role="status"><b class="(good|bad)">(.*?)</b></p>~', $body, $found);
    return "$status " . html_entity_decode(strtr($found[2] ?? 'nothing', ['&nbsp;' => ' ']));
};

echo "== without a password in php.ini\n";
$site = new Site($ini);
$site->open_page();
$fields = ['limit' => 'guard: on /limited ip 2/day burst 2 block 1 day', 'client' => '127.0.0.2', 'action' => 'reset', 'password' => 'right', 'token' => str_repeat('0', 32)];
echo $limited($site, '127.0.0.2', 3), "\n";
foreach ([$site->get('status'), $site->get(PAGE), $site->post(PAGE, $fields, ["Cookie: tokenbucket=$fields[token]"])] as $reply) {
    check($reply[0] === 200 && !preg_match('/<form|<input|<a /', $reply[2]) && !str_contains($reply[1], 'Set-Cookie'), 'no form');
    check(str_contains($reply[1], "form-action 'none'"), 'no form may be sent');
}
echo $limited($site, '127.0.0.2'), "\n";

echo "== with a password\n";
$site = new Site($ini + $hash);
$site->open_page();
echo $limited($site, '127.0.0.2', 3), ', ', $limited($site, '127.0.0.3', 3), "\n";
[$status, $sent, $main] = $site->get('status');
check(!str_contains($main, '<form') && str_contains($main, 'href="?client"') && str_contains($sent, "form-action 'none'"), 'the page only has a link');
check(!str_contains($main, '$2y$'), 'the page shows no hash');
[$status, $sent, $form] = $site->get(PAGE);
check(preg_match('/^Cache-Control: no-store$/m', $sent) === 1 && preg_match("/^Content-Security-Policy: default-src 'none';.* form-action 'self'; frame-ancestors 'none'$/m", $sent) === 1, $sent);
check(preg_match('/^Set-Cookie: (tokenbucket=([0-9a-f]{32})); path=\/; HttpOnly; SameSite=Strict$/m', $sent, $cookie) === 1, $sent);
check(preg_match('/name="token" value="([0-9a-f]{32})"/', $form, $token) === 1 && $token[1] === $cookie[2], 'the form has the token of the cookie');
check(!preg_match('/<script|http-equiv="refresh"/', $form), 'the form is not lost by an update');
preg_match_all('~<option>(.*?)</option>~', $form, $options);
echo implode("\n", $options[1]), "\n";

$fields['token'] = $token[1];
$cookie = ["Cookie: $cookie[1]"];
$send = fn (array $other = [], string $from = '127.0.0.1') => $said($site->post(PAGE, $other + $fields, $cookie, $from));
echo $send(['action' => 'peek']), "\n", $send(['action' => 'peek', 'client' => '192.0.2.1']), "\n";
echo $send(), "\n", $limited($site, '127.0.0.2'), ', ', $limited($site, '127.0.0.3'), "\n";
echo $send(['action' => 'block', 'seconds' => '900']), "\n", $limited($site, '127.0.0.2'), "\n";
echo $send(['action' => 'block', 'client' => '127.0.0.9', 'seconds' => '900']), "\n";

echo "== wrong fields\n";
foreach ([['client' => '<b>'], ['client' => ''], ['client' => ['x']], ['limit' => 'x'], ['limit' => 'guard: ip 7/day burst 7'], ['action' => 'block', 'seconds' => 'x'], ['password' => ''], ['password' => 'wrong']] as $other) {
    echo $send($other), "\n";
}
$reply = $site->post(PAGE, ['client' => '"><script>alert(1)</script>', 'password' => 'secret words'] + $fields, $cookie);
check(!str_contains($reply[2], '<script') && str_contains($reply[2], 'value="&quot;&gt;&lt;script'), 'the client is text');
check(!str_contains($reply[2], 'secret words'), 'no reply has the password');
echo $send(), "\n";

echo "== the form of another site is refused, and uses up no attempt\n";
for ($try = 0; $try < 10; $try++) {
    // With the form of another site, a browser sends no cookie, or the cookie of this site. The
    // other site does not know the token that belongs to the cookie.
    $forged[] = $said($site->post(PAGE, ['password' => 'wrong', 'token' => ''] + $fields, $try % 2 ? $cookie : []));
    $forged[] = $said($site->post(PAGE, ['password' => 'wrong', 'token' => str_repeat('a', 32)] + $fields, $try % 2 ? $cookie : []));
    $forged[] = $said($site->post(PAGE, ['password' => 'wrong', 'token' => ['a']] + $fields, $cookie));
    $forged[] = $said($site->post(PAGE, ['password' => 'wrong', 'token' => ''] + $fields, ['Cookie: tokenbucket=']));
    $forged[] = $said($site->post(PAGE, ['password' => 'wrong', 'token' => 'x'] + $fields, ['Cookie: tokenbucket=x']));
}
echo implode("\n", array_unique($forged)), "\n";
check(!str_contains($site->get(PAGE . '&' . http_build_query($fields), $cookie)[2], 'role="status"'), 'a GET changes nothing');
echo $send(), "\n";

echo "== the page itself has another password\n";
$site->page('locked', ["PASSWORD_HASH = ''" => "PASSWORD_HASH = '" . password_hash_of('of the page') . "'"]);
foreach (['of the page' => 200, 'right' => 401] as $password => $expected) {
    $login = [...$cookie, 'Authorization: Basic ' . base64_encode("any:$password")];
    $reply = $site->post('locked?client', $fields, $login);
    check($reply[0] === $expected && str_contains($reply[2], 'is free') === ($expected === 200), "with the password \"$password\": $reply[0]");
}
check($site->post('locked?client', $fields, $cookie)[0] === 401, 'without a password');

echo "== over HTTPS, no other host may set the cookie\n";
$fpm = new Fpm(ini: $ini + $hash);
$page = $fpm->script('page', strtr(file_get_contents(__DIR__ . '/../../examples/status.php'), ['ALLOWED_ADDRESSES = []' => "ALLOWED_ADDRESSES = ['127.0.0.1']"]));
echo preg_replace('/=\w{32};/', '=…;', $fpm->request($page, ['HTTPS' => 'on', 'QUERY_STRING' => 'client'])['fields']['set-cookie']), "\n";

echo "== a flood of wrong passwords\n";
$answers = in_processes(4, fn (int $client) => array_map(fn (int $guess) => $send(['password' => "guess $client $guess"]), range(1, 5)));
$answers = array_map(fn (string $answer) => preg_replace('/ in \d+ s/', '', $answer), array_merge(...$answers));
$counts = array_count_values($answers);
ksort($counts);
echo json_encode($counts), "\n", preg_replace('/ in \d+ s/', '', $send()), "\n", $limited($site, '127.0.0.3'), "\n";
check($site->get('status')[0] === 200, 'the page itself stays open');
check(!preg_match('/Warning|Notice|Deprecated|Fatal|secret words|guess/', $site->log()), $site->log());
?>
--EXPECT--
== without a password in php.ini
200 200 429
429
== with a password
200 200 429, 200 200 429
guard: on /limited ip 2/day burst 2 block 1 day
200 127.0.0.2 is denied for 24 hours.
200 192.0.2.1 has 2 requests left.
200 127.0.0.2 is free.
200, 429
200 127.0.0.2 is denied for 15 minutes.
429
403 tokenbucket.guard_allow has this client, so it is not blocked.
== wrong fields
400 The field must have an address such as 192.0.2.1 or 2001:db8::1 for the key "ip".
400 The field must have an address such as 192.0.2.1 or 2001:db8::1 for the key "ip".
400 The field must have an address such as 192.0.2.1 or 2001:db8::1 for the key "ip".
400 The field must have a key: ip, net, host, path, header:Name or all at position 1, "x" given.
400 The field must be a limit that the guard has used, "guard: ip 7/day burst 7" given.
400 The field must be greater than or equal to 0.
403 The password is wrong.
403 The password is wrong.
200 127.0.0.2 is free.
== the form of another site is refused, and uses up no attempt
403 This form has expired, so nothing was done. Send it again.
200 127.0.0.2 is free.
== the page itself has another password
== over HTTPS, no other host may set the cookie
__Host-tokenbucket=…; path=/; secure; HttpOnly; SameSite=Strict
== a flood of wrong passwords
{"403 The password is wrong.":5,"403 Too many wrong passwords; try again.":15}
403 Too many wrong passwords; try again.
429
