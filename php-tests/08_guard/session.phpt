--TEST--
The guard: a denial replaces the Cache-Control field of a session that PHP starts itself
--SKIPIF--
<?php
require __DIR__ . '/skipif.inc.php';
extension_loaded('session') || die('skip PHP has no sessions');
?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

$fpm = new Fpm(['www' => ['pm.max_children' => 1]], [
    'tokenbucket.guard' => 'ip 1/hour', 'session.auto_start' => '1',
    'session.cache_limiter' => 'public', 'session.save_path' => sys_get_temp_dir(),
]);
$script = $fpm->script('script', '<?php session_destroy(); echo "script";');
foreach (range(1, 2) as $_) {
    $response = FastCgi::output("$fpm->folder/www.sock", $script, ['REMOTE_ADDR' => '192.0.2.1']);
    preg_match_all('/^(?:Status|Cache-Control): .*$/m', $response, $fields);
    echo implode("\n", array_map('trim', $fields[0])), "\n\n";
}
$fpm->stop();
?>
--EXPECT--
Cache-Control: public, max-age=10800

Status: 429 Too Many Requests
Cache-Control: no-store
