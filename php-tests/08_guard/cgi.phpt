--TEST--
The guard: it limits php-cgi, whose processes share a named segment
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
is_slow() && die('skip php-cgi is not run under valgrind');
(PHP_DEBUG || PHP_ZTS) && die('skip php-cgi is another build of PHP');
exec('command -v php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION, $path, $code);
$code === 0 || die('skip there is no php-cgi for this php');
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$folder = temporary_folder();
file_put_contents("$folder/script.php", '<?php echo "script";');

/** Runs php-cgi as a web server does, and returns its exit code, its status and its body. */
function request(string $folder, string $guard, array $variables, ?string $segment = null): string
{
    $segment ??= "$folder/segment";
    $variables += [
        'GATEWAY_INTERFACE' => 'CGI/1.1', 'REQUEST_METHOD' => 'GET', 'SCRIPT_FILENAME' => "$folder/script.php",
        'SCRIPT_NAME' => '/script.php', 'REQUEST_URI' => '/script.php', 'REDIRECT_STATUS' => '200', 'PATH' => getenv('PATH'),
    ];
    $command = 'exec php-cgi' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION . ' ' . (getenv('TEST_PHP_EXTRA_ARGS') ?: '-n')
        . " -d tokenbucket.shm_path=$segment -d " . escapeshellarg("tokenbucket.guard=\"$guard\"");
    $process = proc_open($command, [['file', '/dev/null', 'r'], ['pipe', 'w'], ['redirect', 1]], $pipes, $folder, $variables);
    [$header, $body] = explode("\r\n\r\n", stream_get_contents($pipes[1]), 2) + [1 => ''];
    $code = proc_close($process);
    return (preg_match('/^Status: (\d+)/m', $header, $status) ? $status[1] : '200') . ' ' . trim($body) . ($code === 0 ? '' : " exit $code");
}

foreach (['off' => '', 'on' => 'ip 1/day burst 2'] as $how => $guard) {
    echo "guard $how: ", implode(', ', array_map(fn () => request($folder, $guard, ['REMOTE_ADDR' => '192.0.2.1']), range(1, 4))), "\n";
}
echo 'a program on this host: ', implode(', ', array_map(fn () => request($folder, 'ip 1/day burst 2', []), range(1, 3))), "\n";
file_put_contents("$folder/guard.php", '<?php echo json_encode(TokenBucket\status()["guard"]);');
foreach (["$folder/segment", ''] as $segment) {
    echo $segment === '' ? 'private' : 'shared', ' memory: ', request($folder, 'ip 1/day', ['REMOTE_ADDR' => '192.0.2.2', 'SCRIPT_FILENAME' => "$folder/guard.php"], $segment), "\n";
}
?>
--EXPECT--
guard off: 200 script, 200 script, 200 script, 200 script
guard on: 200 script, 200 script, 429 Too many requests., 429 Too many requests.
a program on this host: 200 script, 200 script, 200 script
shared memory: 200 {"in_force":true,"reason":null}
private memory: 200 {"in_force":false,"reason":"each request has a process and buckets of its own, because tokenbucket.shm_path is empty"}
