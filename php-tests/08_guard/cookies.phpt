--TEST--
The guard: it reads the cookies that $_COOKIE has, whatever a client sends
--SKIPIF--
<?php require __DIR__ . '/php_cgi.inc.php'; skip_without_php_cgi(); ?>
--FILE--
<?php
require __DIR__ . '/php_cgi.inc.php';
require_once __DIR__ . '/../../tools/testkit/php/fast_cgi.php';
require_once __DIR__ . '/../../tools/testkit/php/wait_for.php';

/** Names in the setting, and the names in $_COOKIE that they stand for. */
const NAMES = [
    'a' => 'a', 'b' => 'b', 'ab' => 'ab', 'a_b' => 'a_b', 'a_' => 'a_', '_a' => '_a', '%2561' => '%61', 'a%2Cb' => 'a,b', '1' => '1',
    '"a' => '"a', '__Host-a' => '__Host-a', '__Secure-*' => '__Secure-*', 'b*' => 'b*', 'a]' => 'a]',
];
/** Pieces of the header fields. */
const PIECES = ['a', 'a', 'b', 'a,b', 'a]', '_', '.', ' ', '=', '=', ';', ';', '; ', '[', ']', ',', '"', '%61', '1', "\t", "\v", "\xe9", '__Host-', '__Secure-', '._Host-', '_[Secure-'];
/** The number of cookies that PHP reads at most. */
const MOST = 5;

$folder = temporary_folder();
file_put_contents("$folder/script.php", <<<'PHP'
    <?php
    $granted = array_column(TokenBucket\status()['decisions'], 'granted_by_store', 'namespace');
    echo bin2hex(serialize([array_keys($_COOKIE), $granted]));
    PHP);
$row = fn (string $name): string => "guard: unless cookie $name all 1000000000/second burst 1000000000";
$guard = implode(';', array_map(fn (string $name) => "unless cookie $name all 1000000000/second", array_map(fn ($name) => str_replace('"', '%22', (string) $name), array_keys(NAMES))));
$command = php_cgi(['max_input_vars' => MOST, 'tokenbucket.guard' => $guard]) . " -b $folder/socket";
$process = proc_open($command, [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['file', '/dev/null', 'w']], $pipes, $folder, ['PATH' => getenv('PATH'), 'PHP_FCGI_MAX_REQUESTS' => '100000']);
wait_for('php-cgi listens', fn () => @stream_socket_client("unix://$folder/socket") !== false);

/** Returns the names in $_COOKIE, and the rows that have counted the request. */
$before = [];
$sent = function (string $cookies) use ($folder, &$before): array {
    $output = FastCgi::output("$folder/socket", "$folder/script.php", ['REMOTE_ADDR' => '192.0.2.1', 'HTTP_COOKIE' => $cookies]);
    [$names, $granted] = unserialize(hex2bin(explode("\r\n\r\n", $output, 2)[1]));
    $counted = array_filter($granted, fn (int $count, string $row) => $count > ($before[$row] ?? 0), ARRAY_FILTER_USE_BOTH);
    $before = $granted;
    return [array_map(strval(...), $names), $counted];
};
$is_exempt = function (string $name, array $names): bool {
    $matches = fn (string $cookie) => str_ends_with($name, '*') ? str_starts_with($cookie, substr($name, 0, -1)) : $cookie === $name;
    return array_filter($names, $matches) !== [];
};

mt_srand($seed = (int) (getenv('TOKENBUCKET_SEED') ?: 5050));
$exempted = array_fill_keys(array_keys(NAMES), 0);
for ($i = 0; $i < 2000; $i++) {
    $cookies = '';
    for ($pieces = mt_rand(1, 14); $pieces > 0; $pieces--) {
        $cookies .= PIECES[mt_rand(0, count(PIECES) - 1)];
    }
    [$names, $counted] = $sent($cookies);
    foreach (NAMES as $setting => $name) {
        $expected = $is_exempt($name, $names);
        $exempted[$setting] += (int) $expected;
        if (isset($counted[$row(str_replace('"', '%22', (string) $setting))]) === $expected) {
            echo 'seed ', $seed, ', ', json_encode($cookies, JSON_INVALID_UTF8_SUBSTITUTE), ' is ', json_encode($names, JSON_INVALID_UTF8_SUBSTITUTE),
                ", but \"$setting\" is ", $expected ? 'counted' : 'exempt', "\n";
        }
    }
}
echo count(array_filter($exempted)), ' of ', count(NAMES), " names were seen\n";
proc_terminate($process);
proc_close($process);
?>
--EXPECT--
14 of 14 names were seen
