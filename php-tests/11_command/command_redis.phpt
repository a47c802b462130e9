--TEST--
The command tokenbucket blocks and frees a client on Redis, and shows no password
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

$redis = RedisServer::start(['--requirepass', 'hunter2']);
$dsn = "redis://:hunter2@127.0.0.1:$redis->port/1";
$bucket = new TokenBucket(new TokenBucketStorageRedis($dsn, 'site:', PATIENCE, TokenBucket\OnFailure::Throw, false), 'alice', 2, 2 / 86400);
$command = function (string $arguments, string $dsn): string {
    putenv("TOKENBUCKET_REDIS=$dsn");
    $printed = php_run_file(__DIR__ . '/../../bin/tokenbucket', [], "$arguments --prefix=site: --capacity=2 --rate=2/day 2>&1; echo \"status $?\"");
    return preg_replace('/[\d.]+ s$/m', 'N s', $printed);
};
$calls = fn (int $count): string => implode('', array_map(fn () => (int) $bucket->consume(), range(1, $count))) . "\n";

echo $command('peek alice', $dsn), $command('block alice 900', $dsn), $calls(1);
echo $command('reset alice', $dsn), $calls(3);
echo "-- a namespace of shared memory\n", $command('reset alice --namespace=site', $dsn);
echo "-- a server that is down, and a wrong DSN\n";
$redis->kill();
echo str_replace((string) $redis->port, 'PORT', $command('peek alice', $dsn));
echo $command('peek alice', 'redis://:hunter2@127.0.0.1:port');
?>
--EXPECT--
alice: 2 of 2 tokens
status 0
alice: 0 of 2 tokens, the next token in N s
status 0
0
alice: 2 of 2 tokens
status 0
110
-- a namespace of shared memory
tokenbucket: --namespace does not apply to Redis, which --redis or TOKENBUCKET_REDIS names
Try: tokenbucket help
status 2
-- a server that is down, and a wrong DSN
tokenbucket: redis://127.0.0.1:PORT/1: cannot connect: Connection refused (os error 111)
status 1
tokenbucket: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have a port between 1 and 65535
status 2
