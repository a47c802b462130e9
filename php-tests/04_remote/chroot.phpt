--TEST--
A worker under another root directory shares no breaker and no cached denial of a socket's path
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
check(!$bucket->attempt()->fallback, 'the store still decides');
$breakers = array_column(TokenBucket\status()['stores'], 'breaker');
sort($breakers);
echo implode(', ', $breakers), "\n";

// Under a third root directory, which has a closed breaker, another server has the same path.
$there = RedisServer::start();
$third = "$folder/root";
mkdir($third . dirname($redis->socket), 0755, true);
link($there->socket, $third . $redis->socket);
$cached = fn () => new TokenBucket(new TokenBucketStorageRedis("unix://$redis->socket", 'y:', PATIENCE, TokenBucket\OnFailure::Throw, true, 60.0), 'id', 1, 1e-6);
check($cached()->consume() && !$cached()->consume(), 'the denial is cached');
$child = pcntl_fork();
if ($child === 0) {
    chroot($third);
    exit($cached()->consume() ? 0 : 1);
}
pcntl_waitpid($child, $status);
check(pcntl_wexitstatus($status) === 0, 'the other server has its own bucket');
exec('rm -r ' . escapeshellarg($folder));
?>
--EXPECT--
closed, open
