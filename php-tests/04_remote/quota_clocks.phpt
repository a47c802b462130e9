--TEST--
Hosts whose clocks differ share one window on Redis and databases; on memcached the host that is ahead opens the next one
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/clocks.php';
if (!can_set_clocks() || exec('command -v memcached') === '' || exec('command -v cc') === '') {
    echo 'skip libfaketime, memcached or cc is missing';
} elseif (PHP_DEBUG) {
    echo 'skip AddressSanitizer must be loaded before libfaketime';
}
?>
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/clocks.php';

$folder = temporary_folder();
preg_match('/extension=(\S*tokenbucket\.so)/', getenv('TEST_PHP_EXTRA_ARGS'), $match);
$extension = $match[1];
link_to_faketime($extension, "$folder/clocks.so");
const LIMIT = 20;

/**
 * Starts a process that acts as a host whose clock is ahead. The process makes a call for each line
 * of its input.
 */
$host = function (float $ahead, string $storage, string $identifier, int $ends) use ($folder, $extension): array {
    $code = <<<PHP
        \$quota = new TokenBucket\\Quota($storage, '$identifier', LIMIT, TokenBucket\\Period::Hour, new DateTime('@$ends'));
        while (fgets(STDIN) !== false) {
            \$decision = \$quota->attempt();
            echo json_encode([\$decision->allowed, \$decision->resetAfter]), "\\n";
        }
        PHP;
    $code = strtr($code, ['PATIENCE' => PATIENCE, 'LIMIT' => LIMIT]);
    file_put_contents("$folder/clock$ahead", sprintf('%+.6f', $ahead));
    $command = str_replace("extension=$extension", "extension=$folder/clocks.so", php_command());
    $command = environment_of_clock("$folder/clock$ahead") . " $command -r " . escapeshellarg($code);
    return ['process' => proc_open($command, [['pipe', 'r'], ['pipe', 'w']], $pipes), 'pipes' => $pipes];
};
$attempt = function (array $host): array {
    fwrite($host['pipes'][0], "\n");
    return json_decode(fgets($host['pipes'][1]), true);
};

/**
 * Lets two hosts call in turn until both are denied. The host whose clock is right calls first.
 * Returns the grants of each host, and the longest resetAfter of the host that is ahead. Returns
 * null if the window has ended meanwhile.
 */
$compete = function (float $ahead, string $storage, int $seconds) use ($host, $attempt): ?array {
    $ends = time() + $seconds;
    $identifier = 'quota' . hrtime(true);
    $hosts = [$host(0, $storage, $identifier, $ends), $host($ahead, $storage, $identifier, $ends)];
    $granted = [0, 0];
    $told = 0;
    do {
        [$right, $mine] = $attempt($hosts[0]);
        [$other, $its] = $attempt($hosts[1]);
        $granted[0] += (int) $right;
        $granted[1] += (int) $other;
        $told = max($told, $its);
    } while ($right || $other);
    return microtime(true) < $ends ? [...$granted, $told] : null;
};

$redis = RedisServer::start();
$memcached = MemcachedServer::startUnix();
$settings = 'timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw';
$stores = [
    'redis' => "new TokenBucketStorageRedis('unix://$redis->socket', $settings)",
    'memcached' => "new TokenBucketStorageMemcached('unix://$memcached->socket', $settings)",
];
foreach (['mysql' => MariaDbServer::start(), 'pgsql' => PostgreSqlServer::start()] as $driver => $server) {
    (new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
    $user = $driver === 'mysql' ? 'root' : 'postgres';
    $servers[] = $server;
    $stores[$driver] = "new TokenBucketStoragePDO(new PDO('{$server->dsn()}', '$user', ''), 'limits')";
}
foreach ($stores as $name => $storage) {
    // Each pair is the lead of one clock and the rest of the window, in seconds. By the clock that
    // is ahead, the window has ended in both cases.
    foreach ([[5, 4], [2700, 1800]] as [$ahead, $seconds]) {
        // A busy machine may need longer than the window lasts.
        for ($tries = 0; ($found = $compete($ahead, $storage, $seconds)) === null && $tries < 30; $tries++) {
        }
        if ($found === null) {
            check($seconds < 60, "$name: the window has ended");
            continue;
        }
        [$right, $other, $told] = $found;
        if ($name === 'memcached') {
            // The host that is ahead opens the next window and gets all its tokens. The other host
            // is denied until its own clock reaches that window.
            check([$right, $other] === [1, LIMIT], "$name: " . json_encode($found));
        } else {
            check([$right, $other] === [LIMIT / 2, LIMIT / 2], "$name: " . json_encode($found));
            check($told <= $seconds, "$name: the end of the window on the server's clock: $told");
        }
    }
    echo "$name\n";
}
?>
--EXPECT--
redis
memcached
mysql
pgsql
