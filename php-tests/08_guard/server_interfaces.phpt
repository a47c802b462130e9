--TEST--
The guard: it limits requests of LiteSpeed's server interface, and others but the command line log that it does not see theirs
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/php_cgi.php';
require __DIR__ . '/../../tools/testkit/php/testkit.php';
is_slow() && die('skip a program of its own is not run under valgrind');
(PHP_DEBUG || PHP_ZTS) && die('skip the embed library is another build of PHP');
foreach (['headers' => EMBED_HEADERS . '/sapi/embed/php_embed.h', 'library' => EMBED_LIBRARY] as $what => $file) {
    is_file($file) || die("skip there is no embed library for this php: its $what");
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/php_cgi.php';

$folder = temporary_folder();
$source = __DIR__ . '/../../tools/testkit/php/server_interface.c';
$includes = implode(' ', array_map(fn (string $of) => '-I' . EMBED_HEADERS . $of, ['', '/main', '/Zend', '/TSRM']));
// The library's own name is that of every version. An unpacked one needs its own C library.
symlink(EMBED_LIBRARY, "$folder/libphp.so");
passthru("gcc $includes $source -o $folder/server_interface $folder/libphp.so -Wl,-rpath,$folder,--allow-shlib-undefined 2>&1");
file_put_contents("$folder/script.php", '<?php echo PHP_VERSION === "' . PHP_VERSION . '" ? "script, " : PHP_VERSION, json_encode(TokenBucket\status()["guard"]["in_force"]);');
file_put_contents("$folder/php.ini", settings_text($folder, ['tokenbucket.guard' => 'ip 1/day burst 2']));
// With Swoole's module, a process of the command line may be a cron job.
foreach (['litespeed', 'embed', 'phpdbg', 'a new one', 'cli', 'cli, swoole'] as $name) {
    [$interface, $modules] = [strtok($name, ','), array_slice(explode(', ', $name), 1)];
    $variables = ['REMOTE_ADDR' => '192.0.2.1', 'PHPRC' => $folder, 'PHP_INI_SCAN_DIR' => '', 'PATH' => getenv('PATH')];
    $log = ['file', "$folder/log", 'w'];
    $process = proc_open([...WITH_LIBRARIES, "$folder/server_interface", $interface, "$folder/script.php", '3', ...$modules], [['file', '/dev/null', 'r'], ['pipe', 'w'], $log], $pipes, null, $variables);
    echo "== $name\n", stream_get_contents($pipes[1]);
    echo implode(preg_grep('/tokenbucket/', file("$folder/log"))), proc_close($process) === 0 ? '' : "failed\n";
}
?>
--EXPECT--
== litespeed
script, true, status 0
script, true, status 0
Too many requests.
, status 429
== embed
script, false, status 0
script, false, status 0
script, false, status 0
tokenbucket: guard: tokenbucket.guard is not in force, because it does not see the requests of the server interface "embed"; call guard() for each of them
== phpdbg
script, false, status 0
script, false, status 0
script, false, status 0
tokenbucket: guard: tokenbucket.guard is not in force, because it does not see the requests of the server interface "phpdbg"; call guard() for each of them
== a new one
script, false, status 0
script, false, status 0
script, false, status 0
tokenbucket: guard: tokenbucket.guard is not in force, because it does not see the requests of the server interface "a new one"; call guard() for each of them
== cli
script, false, status 0
script, false, status 0
script, false, status 0
== cli, swoole
script, false, status 0
script, false, status 0
script, false, status 0
