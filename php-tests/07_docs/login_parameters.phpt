--TEST--
The tutorial's login limits any parameters, and treats the addresses of an IPv6 network as one client
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/child.php';

$folder = temporary_folder();
preg_match_all('/^```(?:php|html)\n(.*?)^```$/ms', file_get_contents(__DIR__ . '/../../docs/tutorial.md'), $blocks);
$block = fn (string $text): string => current(array_filter($blocks[1], fn (string $block) => str_contains($block, $text)));
$limits = $block('function address_limit') . $block('function account_lockout');
// At ten attempts a minute, another attempt could be refilled during the test on a slow machine.
file_put_contents("$folder/limits.php", "<?php\n" . str_replace('10 / TokenBucket::MINUTE', '10 / TokenBucket::DAY', $limits));
file_put_contents("$folder/login.php", "<?php\n" . $block('function check_password'));
file_put_contents("$folder/form.html", '');

/** Sends a form from an address, and returns the text of the page. */
$send = function (string $address, array $form) use ($folder): string {
    $of_request = ['REQUEST_METHOD' => 'POST', 'REMOTE_ADDR' => $address];
    file_put_contents("$folder/before.php", '<?php $_SERVER = ' . var_export($of_request, true) . ' + $_SERVER; $_POST = ' . var_export($form, true) . ';');
    return trim(php_run_file("$folder/login.php", ['auto_prepend_file' => "$folder/before.php", 'tokenbucket.shm_path' => "$folder/segment"]));
};
$right = ['account' => 'alice', 'password' => 'right'];
foreach ([
    'right' => $right,
    'wrong' => ['password' => 'wrong'] + $right,
    'an account in a list' => ['account' => ['alice']] + $right,
    'a password in a list' => ['password' => ['right']] + $right,
    'nothing' => [],
] as $what => $form) {
    echo "$what: ", $send('192.0.2.1', $form), "\n";
}
for ($i = 1; $i <= 10; $i++) {
    $send("2001:db8::$i", $right);
}
echo 'an address of a /64 with ten logins: ', preg_replace('/\d+ seconds/', '… seconds', $send('2001:db8::ffff:1', $right)), "\n";
?>
--EXPECT--
right: <p>Welcome.</p>
wrong: <p>The name or the password is wrong.</p>
an account in a list: <p>The name or the password is wrong.</p>
a password in a list: <p>The name or the password is wrong.</p>
nothing: <p>The name or the password is wrong.</p>
an address of a /64 with ten logins: Too many attempts. Try again in … seconds.
