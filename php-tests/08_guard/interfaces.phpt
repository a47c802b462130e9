--TEST--
The guard: it limits PHP's own web server, but no command line
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/child.php';
require __DIR__ . '/../../tools/testkit/php/built_in.php';
require __DIR__ . '/../../tools/testkit/php/http.php';

foreach (['off' => '', 'on' => 'ip+path 1/day burst 3'] as $how => $guard) {
    $server = new BuiltInServer(['tokenbucket.guard' => $guard], '<?php echo "script";');
    echo "own web server, guard $how:";
    foreach (['a', 'a', '%61?b', './a', 'b'] as $path) {
        echo ' ', trim(implode(' ', http_request($server->port, "/$path") ?? ['lost']));
    }
    echo "\n";
    $server->kill();
}
$folder = temporary_folder();
file_put_contents("$folder/script.php", '<?php echo "script, ", TokenBucket\status()["shared_memory"]["granted"], " counted";');
echo 'command line: ', php_run_file("$folder/script.php", ['tokenbucket.guard' => 'header:X 1/day']), "\n";
?>
--EXPECT--
own web server, guard off: 200 script 200 script 200 script 200 script 200 script
own web server, guard on: 200 script 200 script 200 script 429 Too many requests. 200 script
command line: script, 0 counted
