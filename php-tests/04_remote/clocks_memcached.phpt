--TEST--
On memcached a host whose clock lags gets its part of a saturated bucket
--SKIPIF--
<?php
require __DIR__ . '/../../testkit/php/clocks.php';
if (!can_set_clocks() || exec('command -v memcached') === '' || exec('command -v cc') === '') {
    echo 'skip libfaketime, memcached or cc is missing';
} elseif (PHP_DEBUG) {
    echo 'skip AddressSanitizer must be loaded before libfaketime';
}
?>
--FILE--
<?php
require __DIR__ . '/../../testkit/php/servers.php';
require __DIR__ . '/../../testkit/php/child.php';
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/clocks.php';

$folder = temporary_folder();
preg_match('/extension=(\S*tokenbucket\.so)/', getenv('TEST_PHP_EXTRA_ARGS'), $match);
$extension = $match[1];
link_to_faketime($extension, "$folder/clocks.so");
$server = MemcachedServer::startTcp();

/** Runs two hosts for a second, the second with a clock that lags. Returns the grants of each. */
$compete = function (float $lag) use ($folder, $extension, $server): array {
    $code = <<<'PHP'
        $bucket = new TokenBucket(new TokenBucketStorageMemcached($argv[1], timeout: 5.0, onFailure: TokenBucket\OnFailure::Throw, hints: false), $argv[2], 10, 600);
        for ($granted = 0; hrtime(true) < (int) $argv[3]; ) {
            $granted += (int) $bucket->consume();
            usleep(mt_rand(200, 1_000));
        }
        echo $granted;
        PHP;
    $end = hrtime(true) + 1_300_000_000;
    foreach ([0, $lag] as $host => $error) {
        file_put_contents("$folder/clock$host", sprintf('%+.6f', -$error));
        $command = str_replace("extension=$extension", "extension=$folder/clocks.so", php_command());
        $command = environment_of_clock("$folder/clock$host") . " $command -r " . escapeshellarg($code)
            . " -- 127.0.0.1:$server->port lag$lag $end";
        $processes[] = popen($command, 'r');
    }
    return array_map(fn ($process) => (int) stream_get_contents($process), $processes);
};

foreach ([0.005, 0.05] as $lag) {
    [$right, $lagging] = $compete($lag);
    check($right + $lagging > 300, "$right and $lagging are too few grants");
    check($right + $lagging < 10 + 600 * (1.3 + 2 * $lag) + 10, "$right and $lagging are too many grants");
    check($lagging > ($right + $lagging) / 6, "with a lag of $lag s, $lagging of " . ($right + $lagging));
}
// Control: the clock moves. A host that lags by a second is not followed.
[$right, $lagging] = $compete(1);
check($lagging < ($right + $lagging) / 6, "with a lag of 1 s, $lagging of " . ($right + $lagging));
echo "done\n";
?>
--EXPECT--
done
