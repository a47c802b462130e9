--TEST--
The status page counts each wrong password, also of parallel requests and of all addresses of a /64
--SKIPIF--
<?php require __DIR__ . '/../03_php_fpm/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/fpm.php';

$fpm = new Fpm();
$hash = password_hash('secret', PASSWORD_BCRYPT, ['cost' => 4]);
$code = strtr(file_get_contents(__DIR__ . '/../../examples/status.php'), [
    'PASSWORD_HASH = \'\'' => "PASSWORD_HASH = '$hash'",
    '10 / \TokenBucket::MINUTE' => '10 / \TokenBucket::DAY',
    // Slow, so that all workers check a password at once.
    'password_verify(' => '!usleep(300_000) && password_verify(',
]);
$page = $fpm->script('page', $code);
$status = fn (string $password, string $address): int => $fpm->request($page, [
    'REMOTE_ADDR' => $address, 'HTTP_AUTHORIZATION' => 'Basic ' . base64_encode("any:$password"),
])['status'];

/** Sends $guesses from four clients with these addresses, and prints the number of each status. */
$guess = function (string $what, int $guesses, callable $address) use ($status): void {
    $of_clients = in_processes(4, fn (int $client) => array_map(fn (int $guess) => $status("guess $guess", $address($client, $guess)), range(1, $guesses)));
    $counts = array_count_values(array_merge(...$of_clients));
    ksort($counts);
    echo "$what: ", json_encode($counts), "\n";
};
$guess('one address', 5, fn () => '192.0.2.1');
$guess('addresses of a /64', 5, fn (int $client, int $guess) => "2001:db8::$client:$guess");
$guess('spellings of an address', 5, fn (int $client) => $client % 2 ? '::ffff:192.0.2.2' : '192.0.2.2');
echo 'the right password: ', $status('secret', '192.0.2.1'), ' ', $status('secret', '192.0.2.3'), "\n";
// The right password gives its token back.
$right = array_map(fn () => $status('secret', '192.0.2.4'), range(1, 12));
echo 'twelve times: ', implode(' ', array_unique($right)), "\n";
echo 'no password: ', $fpm->request($page, ['REMOTE_ADDR' => '192.0.2.5'])['status'], "\n";
?>
--EXPECT--
one address: {"401":10,"429":10}
addresses of a /64: {"401":10,"429":10}
spellings of an address: {"401":10,"429":10}
the right password: 429 200
twelve times: 200
no password: 401
