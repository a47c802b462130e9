--TEST--
A worker under another root directory, where the socket is missing, has a breaker of its own
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (!function_exists('chroot') || trim((string) shell_exec('id -u')) !== '0') {
    die('skip only root may change the root directory');
}
?>
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/servers.php';

$redis = RedisServer::start();
$make = fn () => new TokenBucket(new TokenBucketStorageRedis("unix://$redis->socket", 'x:', PATIENCE, TokenBucket\OnFailure::Local, false), 'id', 9, 1e-6);
$bucket = $make();
check(!$bucket->attempt()->fallback, 'the store decides');

$folder = sys_get_temp_dir() . '/tokenbucket-root-' . getmypid();
mkdir($folder);
$child = pcntl_fork();
if ($child === 0) {
    chroot($folder);
    $other = $make();
    for ($i = 0; $i < 5; $i++) {
        check($other->attempt()->fallback, 'the socket is missing');
    }
    exit(0);
}
pcntl_waitpid($child, $status);
rmdir($folder);
check(!$bucket->attempt()->fallback, 'the store still decides');
$breakers = array_column(TokenBucket\status()['stores'], 'breaker');
sort($breakers);
echo implode(', ', $breakers), "\n";
?>
--EXPECT--
closed, open
