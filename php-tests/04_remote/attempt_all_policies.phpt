--TEST--
In attemptAll(), a bucket that its server refuses frees no other bucket, and each policy counts
--EXTENSIONS--
pcntl
pdo
pdo_sqlite
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\OnFailure;

$redis = RedisServer::start();
$bucket = fn (string $name, OnFailure $policy, ?int $port = null, float $timeout = PATIENCE, string $prefix = 'p:') => new TokenBucket(
    new TokenBucketStorageRedis('redis://127.0.0.1:' . ($port ?? $redis->port), $prefix, $timeout, $policy, false),
    $name, 3, 1e-6,
);
$said = fn (TokenBucket\Decision $it) => "$it->reason" . ($it->fallback ? ' by policy' : '') . ($it->refusedBy === null ? '' : ", refused by $it->refusedBy");

echo "-- A key that holds something else --\n";
$redis->command('LPUSH', 'p:foreign', '1');
$memory = new TokenBucket(new TokenBucketStorageMemory, 'm', 9, 1);
foreach ([OnFailure::Allow, OnFailure::Local, OnFailure::Deny] as $policy) {
    $good = $bucket("good $policy->name", OnFailure::Deny);
    $list = ['foreign' => $bucket('foreign', $policy), 'good' => $good];
    for ($call = 0; $call < 5; $call++) {
        echo $said(TokenBucket::attemptAll($call % 2 ? [...$list, 'memory' => $memory] : $list)), "\n";
    }
    echo "$policy->name: ", $good->peek()->remaining, " left\n";
    echo 'twice: ', $said(TokenBucket::attemptAll(['a' => $list['foreign'], 'b' => $list['foreign']])), "\n";
}

echo "-- A server that hangs --\n";
foreach ([[OnFailure::Local, OnFailure::Deny], [OnFailure::Allow, OnFailure::Local], [OnFailure::Allow, OnFailure::Throw]] as $policies) {
    foreach ([$policies, array_reverse($policies)] as [$one, $two]) {
        $proxy = new Proxy("tcp://127.0.0.1:$redis->port");
        $prefix = "$one->name $two->name:";
        $on = fn (string $name, OnFailure $policy) => $bucket($name, $policy, $proxy->port, 0.3, $prefix);
        wait_for('the bucket connects', fn () => !$bucket('connects', OnFailure::Local, $proxy->port)->peek()->fallback);
        $on('a', OnFailure::Deny)->peek();
        $proxy->set(Proxy::SWALLOW_REPLIES);
        foreach ([['a', 'b'], ['c', 'c']] as [$first, $second]) {
            echo "$one->name $first, $two->name $second: ";
            try {
                $calls = array_map(fn () => $said(TokenBucket::attemptAll([$on($first, $one), $on($second, $two)])), [1, 2]);
                echo implode('; ', $calls), "\n";
            } catch (TokenBucket\StorageException) {
                echo "thrown\n";
            }
        }
    }
}

echo "-- A table that is missing --\n";
$database = SqliteFile::start()->connect();
$asked = fn (): int => TokenBucket\status()['remote']['asked'];
foreach ([[OnFailure::Local, OnFailure::Deny], [OnFailure::Allow, OnFailure::Local], [OnFailure::Allow, OnFailure::Throw]] as $policies) {
    foreach ([$policies, array_reverse($policies)] as [$one, $two]) {
        $on = fn (OnFailure $policy) => new TokenBucket(new TokenBucketStoragePDO($database, 'missing', $policy), "$one->name $two->name", 3, 1e-6);
        [$before, $list] = [$asked(), ['memory' => $memory, 'one' => [$on($one), 1], 'two' => [$on($two), 1]]];
        echo "$one->name one, $two->name two: ";
        try {
            $calls = array_map(fn () => $said(TokenBucket::attemptAll($list, 0)), [1, 2]);
            echo implode('; ', $calls), '; asked: ', $asked() - $before, "\n";
        } catch (TokenBucket\StorageException) {
            echo "thrown\n";
        }
    }
}
?>
--EXPECT--
-- A key that holds something else --
granted
granted
granted
insufficient_tokens, refused by good
insufficient_tokens, refused by good
Allow: 0 left
twice: granted by policy
granted by policy
granted by policy
granted by policy
insufficient_tokens by policy, refused by foreign
insufficient_tokens by policy, refused by foreign
Local: 0 left
twice: insufficient_tokens by policy, refused by a
unavailable by policy, refused by foreign
unavailable by policy, refused by foreign
unavailable by policy, refused by foreign
unavailable by policy, refused by foreign
unavailable by policy, refused by foreign
Deny: 3 left
twice: unavailable by policy, refused by a
-- A server that hangs --
Local a, Deny b: unavailable by policy, refused by 1; unavailable by policy, refused by 1
Local c, Deny c: unavailable by policy, refused by 0; unavailable by policy, refused by 0
Deny a, Local b: unavailable by policy, refused by 0; unavailable by policy, refused by 0
Deny c, Local c: unavailable by policy, refused by 0; unavailable by policy, refused by 0
Allow a, Local b: granted by policy; granted by policy
Allow c, Local c: granted by policy; insufficient_tokens by policy, refused by 1
Local a, Allow b: granted by policy; granted by policy
Local c, Allow c: granted by policy; insufficient_tokens by policy, refused by 1
Allow a, Throw b: thrown
Allow c, Throw c: thrown
Throw a, Allow b: thrown
Throw c, Allow c: thrown
-- A table that is missing --
Local one, Deny two: unavailable by policy, refused by one; unavailable by policy, refused by one; asked: 2
Deny one, Local two: unavailable by policy, refused by one; unavailable by policy, refused by one; asked: 2
Allow one, Local two: granted by policy; insufficient_tokens by policy, refused by two; asked: 2
Local one, Allow two: granted by policy; insufficient_tokens by policy, refused by two; asked: 2
Allow one, Throw two: thrown
Throw one, Allow two: thrown
