--TEST--
ClientThrottle and plain PHP on ext-memcache share records and respect each other's lock
--EXTENSIONS--
pcntl
memcache
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require_once __DIR__ . '/../../tools/testkit/php/plain_limiters.php';

use TokenBucket\Compat\ClientThrottle;

const LIMIT = 400;
// The window in seconds, which is so long that no token is refilled during the test.
const WINDOW = 100_000_000;

class Application extends ClientThrottle
{
    protected function key($id)
    {
        return "app_$id";
    }
}
$server = MemcachedServer::startTcp();
$ours = new Application(new TokenBucketStorageMemcached("127.0.0.1:$server->port", timeout: PATIENCE));

// Calls use the two classes in turn, and each class continues with the record of the other one. The
// published code tests its lock the wrong way round. The plain class first runs with a correct
// test, and then with the published one.
foreach ([false, true] as $published) {
    $plain = new PlainClientThrottle(memcache($server->port), $published);
    foreach ([0, 1] as $first) {
        $id = uniqid();
        $granted = 0;
        for ($i = 0; $i < 12; $i++) {
            $granted += (int) !(($i + $first) % 2 ? $plain->check("app_$id", 7, WINDOW) : $ours->check($id, 7, WINDOW));
        }
        check($granted === 7, "$granted of 7");
    }
}

// All processes call at once. The plain class allows a call that does not get the lock, so the test
// subtracts these calls.
for ($round = 0; $round < 3; $round++) {
    $id = uniqid();
    $results = in_processes(8, function (int $index, callable $barrier) use ($ours, $server, $id): array {
        $plain = new PlainClientThrottle(memcache($server->port));
        $granted = 0;
        $barrier();
        for ($i = 0; $i < 150; $i++) {
            $granted += (int) !($index < 4 ? $plain->check("app_$id", LIMIT, WINDOW) : $ours->check($id, LIMIT, WINDOW));
        }
        return [$granted, $plain->openings];
    });
    $granted = array_sum(array_column($results, 0)) - array_sum(array_column($results, 1));
    check($granted === LIMIT, "$granted granted");
    $bucket = memcache($server->port)->get("app_$id");
    check(is_array($bucket) && $bucket['tokens'] < 0, 'the record is readable');
    check(memcache($server->port)->get("app_{$id}_lock") === false, 'nobody is inside');
}
echo "done\n";
?>
--EXPECT--
done
