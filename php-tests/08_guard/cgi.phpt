--TEST--
The guard: it limits php-cgi, whose processes share a named segment
--SKIPIF--
<?php require __DIR__ . '/php_cgi.inc.php'; skip_without_php_cgi(); ?>
--FILE--
<?php
require __DIR__ . '/php_cgi.inc.php';

$folder = temporary_folder();
file_put_contents("$folder/script.php", '<?php echo "script";');
file_put_contents("$folder/guard.php", '<?php echo json_encode(TokenBucket\status()["guard"]);');

/** Returns the status and the body of a reply, and the exit code if it is not 0. */
$request = function (string $guard, array $variables, string $script = 'script', ?string $segment = null) use ($folder): string {
    $ini = ['tokenbucket.shm_path' => $segment ?? "$folder/segment", 'tokenbucket.guard' => $guard];
    [$output, $code] = cgi("$folder/$script.php", $ini, $variables);
    [$header, $body] = explode("\r\n\r\n", $output, 2) + [1 => ''];
    return (preg_match('/^Status: (\d+)/m', $header, $status) ? $status[1] : '200') . ' ' . trim($body) . ($code === 0 ? '' : " exit $code");
};

foreach (['off' => '', 'on' => 'ip 1/day burst 2'] as $how => $guard) {
    echo "guard $how: ", implode(', ', array_map(fn () => $request($guard, ['REMOTE_ADDR' => '192.0.2.1']), range(1, 4))), "\n";
}
echo 'a program on this host: ', implode(', ', array_map(fn () => $request('ip 1/day burst 2', []), range(1, 3))), "\n";
foreach (['shared' => null, 'private' => ''] as $memory => $segment) {
    echo "$memory memory: ", $request('ip 1/day', ['REMOTE_ADDR' => '192.0.2.2'], 'guard', $segment), "\n";
}
?>
--EXPECT--
guard off: 200 script, 200 script, 200 script, 200 script
guard on: 200 script, 200 script, 429 Too many requests., 429 Too many requests.
a program on this host: 200 script, 200 script, 200 script
shared memory: 200 {"in_force":true,"reason":null}
private memory: 200 {"in_force":false,"reason":"each request has buckets of its own while tokenbucket.shm_path is empty"}
