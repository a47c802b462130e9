--TEST--
On memcached a host whose clock lags gets its share of a saturated bucket
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
$server = MemcachedServer::startTcp();

const RATE = 100;

/**
 * Starts a process that acts as a host whose clock lags. The process makes a call for each line of
 * its input.
 */
$host = function (float $lag, string $identifier) use ($folder, $extension, $server): array {
    $code = <<<'PHP'
        $storage = new TokenBucketStorageMemcached($argv[1], timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw, denialCache: false);
        $bucket = new TokenBucket($storage, $argv[2], 10, RATE);
        while (fgets(STDIN) !== false) {
            echo (int) $bucket->consume(), "\n";
        }
        PHP;
    $code = strtr($code, ['PATIENCE' => PATIENCE, 'RATE' => RATE]);
    file_put_contents("$folder/clock$lag", sprintf('%+.6f', -$lag));
    $command = str_replace("extension=$extension", "extension=$folder/clocks.so", php_command());
    $command = environment_of_clock("$folder/clock$lag") . " $command -r " . escapeshellarg($code)
        . " -- 127.0.0.1:$server->port $identifier";
    return ['process' => proc_open($command, [['pipe', 'r'], ['pipe', 'w']], $pipes), 'pipes' => $pipes];
};
$consume = function (array $host): int {
    fwrite($host['pipes'][0], "\n");
    return (int) fgets($host['pipes'][1]);
};

/**
 * Lets two hosts call in turn until they have 100 grants together. The clock of the second host
 * lags. The order of the two calls of a turn is random. Returns the grants of each host.
 */
$compete = function (float $lag) use ($host, $consume): array {
    $hosts = [$host(0, "lag$lag"), $host($lag, "lag$lag")];
    $granted = [0, 0];
    $start = hrtime(true);
    while (array_sum($granted) < 100) {
        $first = random_int(0, 1);
        foreach ([$first, 1 - $first] as $index) {
            $granted[$index] += $consume($hosts[$index]);
        }
        usleep(500);
    }
    $most = 10 + RATE * ((hrtime(true) - $start) / 1e9 + 2 * $lag) + 1;
    check(array_sum($granted) <= $most, array_sum($granted) . " are more than $most grants");
    return $granted;
};

foreach ([0.005, 0.05] as $lag) {
    [$right, $lagging] = $compete($lag);
    check($lagging > ($right + $lagging) / 6, "with a lag of $lag s, $lagging of " . ($right + $lagging));
}
// Control: the clock of the host does lag. With a lag of a second, the host gets less than its
// share.
[$right, $lagging] = $compete(1);
check($lagging < ($right + $lagging) / 6, "with a lag of 1 s, $lagging of " . ($right + $lagging));
echo "done\n";
?>
--EXPECT--
done
