--TEST--
A quota keeps its limit if the clocks of the server and of this host differ by more than its windows
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/clocks.php';
if (!can_set_clocks() || exec('command -v cc') === '') {
    echo 'skip libfaketime or cc is missing';
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
link_to_faketime($match[1], "$folder/clocks.so");

/** Each kind of call returns its grants of 50, and the longest wait. The limit is 5. */
$code = <<<'PHP'
    $quota = fn (string $name, string $period = 'Hour'): TokenBucket\Quota
        => new TokenBucket\Quota($storage, $name . hrtime(true), 5, constant("TokenBucket\\Period::$period"));
    $decide = function (callable $call): array {
        [$granted, $wait] = [0, 0];
        for ($i = 0; $i < 50; $i++) {
            $decision = $call();
            $granted += (int) $decision->allowed;
            $wait = max($wait, $decision->retryAfter);
        }
        return [$granted, $wait > 0 && $wait <= 3600];
    };
    // The process does not know the clocks yet.
    [$one, $other] = [$quota('first'), new TokenBucket\Quota($another, 'first' . hrtime(true), 5, TokenBucket\Period::Hour)];
    $told['attemptAll on two servers'] = $decide(fn () => TokenBucket::attemptAll([$one, $other]));
    foreach (['Minute', 'Hour', 'Day', 'Month'] as $period) {
        $one = $quota('consume', $period);
        $told["consume in a $period"] = count(array_filter(range(1, 50), fn () => $one->consume()));
    }
    $one = $quota('attempt');
    $told['attempt'] = $decide(fn () => $one->attempt());
    $told['peek'] = $one->peek()->allowed;
    [$one, $other] = [$quota('all'), new TokenBucket($storage, 'other' . hrtime(true), 100, 0.01)];
    $told['attemptAll'] = $decide(fn () => TokenBucket::attemptAll([$one, $other]));
    $told['attemptAll took from the other'] = 100 - $other->peek()->remaining;
    $one = $quota('memory');
    $memory = new TokenBucket(new TokenBucketStorageSharedMemory, 'memory' . hrtime(true), 100, 0.01);
    $told['attemptAll on two stores'] = $decide(fn () => TokenBucket::attemptAll([$one, $memory]));
    [$one, $other] = [$quota('each'), $quota('another')];
    $told['attemptEach'] = $decide(fn () => TokenBucket::attemptEach(['a' => $one, 'b' => $other])['a']);
    $one = $quota('refund');
    $one->consume(5);
    $one->refund(2);
    $one->settle(1, 0);
    $told['refund and settle'] = $decide(fn () => $one->attempt());
    $one = $quota('charge');
    $told['charge'] = $one->charge(7)->remaining;
    $told['charged'] = $one->consume();
    $one = $quota('block');
    $blocked = $one->block(5400);
    $told['block'] = $blocked->resetAfter >= 5400 && $blocked->resetAfter <= 9000;
    $told['blocked'] = $one->consume();
    [$start, $end] = $one->window();
    $told['window'] = $end->getTimestamp() - $start->getTimestamp();
    $one->reset();
    $told['reset'] = $one->consume();
    echo json_encode($told);
    PHP;

$redis = RedisServer::start();
$settings = 'timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw';
$stores = ['redis' => "new TokenBucketStorageRedis('unix://$redis->socket', $settings)"];
foreach (['mysql' => MariaDbServer::start(), 'pgsql' => PostgreSqlServer::start()] as $driver => $server) {
    (new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
    $user = $driver === 'mysql' ? 'root' : 'postgres';
    $servers[] = $server;
    $stores[$driver] = "new TokenBucketStoragePDO(new PDO('{$server->dsn()}', '$user', ''), 'limits')";
}
$right = [
    'attemptAll on two servers' => [5, true],
    'consume in a Minute' => 5, 'consume in a Hour' => 5, 'consume in a Day' => 5, 'consume in a Month' => 5,
    'attempt' => [5, true], 'peek' => false, 'attemptAll' => [5, true], 'attemptAll took from the other' => 5,
    'attemptAll on two stores' => [5, true], 'attemptEach' => [5, true], 'refund and settle' => [3, true],
    'charge' => -2, 'charged' => false, 'block' => true, 'blocked' => false, 'window' => 3600, 'reset' => true,
];
foreach ($stores as $name => $storage) {
    foreach ([0, 90, -90, 10_800, -10_800, 86_400 * 400, -86_400 * 400] as $ahead) {
        file_put_contents("$folder/clock$ahead", sprintf('%+.6f', $ahead));
        $command = str_replace("extension=$match[1]", "extension=$folder/clocks.so", php_command());
        $another = $stores[$name === 'redis' ? 'mysql' : 'redis'];
        $script = strtr("\$storage = $storage;\n\$another = $another;\n$code", ['PATIENCE' => PATIENCE]);
        // A window may end during the calls, which then grant more.
        for ($tries = 0; $tries < 5; $tries++) {
            $told = json_decode((string) shell_exec(environment_of_clock("$folder/clock$ahead") . " $command -r " . escapeshellarg($script)), true);
            if ($told === $right) {
                break;
            }
        }
        check($told === $right, "$name, ahead by $ahead s: " . json_encode(array_udiff_assoc((array) $told, $right, fn ($a, $b) => $a <=> $b)));
    }
    echo "$name\n";
}
?>
--EXPECT--
redis
mysql
pgsql
