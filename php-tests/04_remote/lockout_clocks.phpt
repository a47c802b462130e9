--TEST--
Hosts on memcached whose clocks differ end no block of each other early
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
link_to_faketime($match[1], "$folder/clocks.so");
$command = str_replace("extension=$match[1]", "extension=$folder/clocks.so", php_command());
$server = MemcachedServer::startUnix();
$code = strtr(<<<'PHP'
    $storage = new TokenBucketStorageMemcached('unix://SOCKET', timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw);
    $decision = (new TokenBucket\Lockout($storage, 'alice', 2, 600))->attempt();
    printf("%s %d\n", $decision->reason, round($decision->retryAfter, -2));
    PHP, ['SOCKET' => $server->socket, 'PATIENCE' => PATIENCE]);
// The clock of every second attempt is an hour ahead.
foreach ([3600, 0, 3600, 0, 3600] as $ahead) {
    file_put_contents("$folder/clock", sprintf('%+.6f', $ahead));
    echo "$ahead: ", shell_exec(environment_of_clock("$folder/clock") . " $command -r " . escapeshellarg($code));
}
?>
--EXPECT--
3600: granted 0
0: granted 0
3600: locked_out 600
0: locked_out 4200
3600: locked_out 600
