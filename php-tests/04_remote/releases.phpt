--TEST--
The last release and this code share buckets, lockouts and quotas on each store, and grant the limit once
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--SKIPIF--
<?php is_file((string) getenv('TOKENBUCKET_LAST_RELEASE')) || die('skip TOKENBUCKET_LAST_RELEASE names no module of the last release'); ?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$mariadb = MariaDbServer::start();
(new TokenBucketStoragePDO($mariadb->connect(), 'limits'))->prepare();
$patience = 'timeout: ' . PATIENCE . ', onFailure: TokenBucket\OnFailure::Throw, denialCache: false';
$storages = [
    'Redis' => "new TokenBucketStorageRedis('unix://$redis->socket', \$prefix, $patience)",
    'memcached' => "new TokenBucketStorageMemcached('127.0.0.1:$memcached->port', \$prefix, $patience)",
    'MariaDB' => "new TokenBucketStoragePDO(new PDO('{$mariadb->dsn()}', 'root', ''), 'limits')",
    'a named segment' => 'new TokenBucketStorageSharedMemory($prefix)',
];
$ini = ['tokenbucket.shm_path' => temporary_folder() . '/segment', 'tokenbucket.shm_size' => '1M'];
$arguments = getenv('TEST_PHP_EXTRA_ARGS');
preg_match('~ (/\S*tokenbucket\.so)~', file_get_contents('/proc/self/maps'), $module);
/** Returns the command that runs code with a release. The code prints JSON. */
$command = function (string $release, string $storage, string $code, string $prefix = 'p') use ($ini, $arguments, $module): string {
    $file = $release === 'old' ? getenv('TOKENBUCKET_LAST_RELEASE') : $module[1];
    putenv('TEST_PHP_EXTRA_ARGS=' . preg_replace('~[^\s\'"=]*tokenbucket(\.so)?(?=[\s\'"]|$)~', $file, $arguments, 1));
    return php_command($ini) . ' -r ' . escapeshellarg("\$prefix = '$prefix'; \$storage = $storage; \$bucket = fn (\$id, \$n = 10) => new TokenBucket(\$storage, \$id, \$n, 0.0001); echo json_encode((function () use (\$bucket, \$storage) { $code })());") . ' 2>&1';
};
$run = fn (string ...$of) => json_decode($said = (string) shell_exec($command(...$of)), true) ?? $said;
/** Returns the grants of four processes of each release, of a bucket of 300. */
$race = function (string $storage, string $id, string $old_prefix) use ($command): int {
    $code = "for (\$b = \$bucket('$id', 300), \$n = 0, \$i = 0; \$i < 100; \$i++) { \$n += (int) \$b->consume(); } return \$n;";
    $pipes = [];
    for ($i = 0; $i < 8; $i++) {
        $pipes[] = popen($command($i % 2 ? 'old' : 'new', $storage, $code, $i % 2 ? $old_prefix : 'p'), 'r');
    }
    return array_sum(array_map(fn ($pipe) => (int) stream_get_contents($pipe), $pipes));
};
foreach (['old' => getenv('TOKENBUCKET_LAST_RELEASE'), 'new' => $module[1]] as $release => $file) {
    $loaded = $run($release, $storages['a named segment'], 'preg_match("~ (/\S*tokenbucket\.so)~", file_get_contents("/proc/self/maps"), $found); return $found[1];');
    check($loaded === realpath($file), "$release loads " . json_encode($loaded));
}
foreach ($storages as $name => $storage) {
    echo "$name: ", $race($storage, 'race', 'p'), " of 300\n";
    foreach (['charge(12)', 'refund(2)', 'settle(1, 3)', 'block(90000)', 'drain(4)', 'reset()', 'reserve(8)', 'reserve()->cancel()', 'attempt(2, 1)'] as $method) {
        foreach (['old' => 'new', 'new' => 'old'] as $first => $second) {
            $id = "$method $first";
            $run($first, $storage, "return \$bucket('$id')->consume(5);");
            $seen = $run($second, $storage, "\$b = \$bucket('$id'); \$b->$method; return round(\$b->peek(0)->remaining);");
            $found = $run($first, $storage, "return round(\$bucket('$id')->peek(0)->remaining);");
            check($seen === $found && is_int($seen), "$name: $second calls $method, and sees " . json_encode($seen) . ", but $first sees " . json_encode($found));
        }
    }
    $guess = fn (string $release) => $run($release, $storage, 'return (new TokenBucket\Lockout($storage, "account", 3))->attempt()->allowed;');
    echo json_encode(array_map($guess, ['old', 'new', 'old', 'new'])), "\n";
    $quota = fn (string $release) => $run($release, $storage, 'return (new TokenBucket\Quota($storage, "quota", 3, TokenBucket\Period::Year, new DateTimeImmutable("2026-01-01")))->consume(2);');
    echo json_encode(array_map($quota, ['old', 'new'])), "\n";
}
echo 'control, with two prefixes: ', $race($storages['Redis'], 'control', 'other'), "\n";
?>
--EXPECT--
Redis: 300 of 300
[true,true,true,false]
[true,false]
memcached: 300 of 300
[true,true,true,false]
[true,false]
MariaDB: 300 of 300
[true,true,true,false]
[true,false]
a named segment: 300 of 300
[true,true,true,false]
[true,false]
control, with two prefixes: 600
