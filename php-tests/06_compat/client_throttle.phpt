--TEST--
ClientThrottle: check() and key() work on each storage, and memcached has the expected record
--EXTENSIONS--
memcache
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';
require_once __DIR__ . '/../../tools/testkit/php/plain_limiters.php';

use TokenBucket\Compat\ClientThrottle;

class Application extends ClientThrottle
{
    public array $asked = [];

    protected function key($id)
    {
        $this->asked[] = $id;
        return "app:$id";
    }
}
$server = MemcachedServer::startTcp();
$redis = RedisServer::start();
$memcached = new TokenBucketStorageMemcached("127.0.0.1:$server->port", timeout: PATIENCE);
$memcache = memcache($server->port);
$storages = [
    new TokenBucketStorageMemory,
    new TokenBucketStorageSharedMemory,
    $memcached,
    new TokenBucketStorageRedis("unix://$redis->socket", timeout: PATIENCE),
];
foreach ($storages as $storage) {
    $name = get_class($storage);
    $id = uniqid();
    $throttle = new ClientThrottle($storage);
    $answers = [];
    for ($i = 0; $i < 5; $i++) {
        $answers[] = $throttle->check($id, 3);
    }
    check($answers === [false, false, false, true, true], "$name: three are not limited");
    check(!$throttle->check("$id other", '3', '60'), "$name: another client");
    check($throttle->check($id, 0), "$name: none is allowed");
    check((clone $throttle)->check($id, 3), "$name: a clone");
    $application = new Application($storage);
    check(!$application->check($id, 1, 60.5) && $application->check($id, 1, 60.5), "$name: its own key()");
    check($application->asked === [$id, $id], "$name: asked");
}

// The record has the key without a prefix and the bytes that ext-memcache writes. The record
// expires after the window at the earliest. The lock is removed.
$throttle = new Application($memcached);
/** Returns the time to live of a record in seconds. */
$life = fn (string $key) => (int) preg_replace('/.* t/', ' ', ' ' . $server->command("mg $key v f t\r\nmn", 'MN')[0]);
$before = floor(1000 * microtime(true));
$throttle->check('a', 5);
$bucket = $memcache->get('app:a');
check($bucket['tokens'] === 4000 && is_float($bucket['filled']), 'an array');
check($bucket['filled'] >= $before && $bucket['filled'] <= 1000 * microtime(true), 'filled now');
[$head, $value] = $server->command("mg app:a v f t\r\nmn", 'MN');
check(preg_match('/^VA \d+ f1 t(\d+)$/', $head, $match) === 1 && $match[1] <= 311, $head);
$elapsed = microtime(true) - $before / 1000;
check($match[1] >= 308 - $elapsed, "$head after $elapsed s");
check($value === serialize($bucket), $value);
check($memcache->get('app:a_lock') === false, 'no lock');
$memcache->set('app:a', $bucket);
$throttle->check('a', 5, 1000);
check($life('app:a') <= 1011 && $life('app:a') >= 1008 - (microtime(true) - $before / 1000), 'no record without an expiry is left');

// Keys with bytes that ext-memcache cannot send are changed. Keys that ext-memcache would cut are
// hashed.
$throttle->check("b c\n", 5);
check($memcache->get("app:b c\n")['tokens'] === 4000, 'a mangled key');
$long = str_repeat('x', 300);
check(!$throttle->check("{$long}1", 1) && !$throttle->check("{$long}2", 1) && $throttle->check("{$long}2", 1), 'long keys');
foreach (range(240, 252) as $length) {
    $id = str_repeat('y', $length - 4);
    check(!$throttle->check($id, 1) && $throttle->check($id, 1), "a key of $length bytes");
}

// If a plain client never releases the lock, calls are late, but their results are correct.
/** Returns the number of reads that the server has executed. */
$entered = fn () => (int) $server->stats()['cmd_get'];
$slow = new Application(new TokenBucketStorageMemcached("127.0.0.1:$server->port", timeout: 3.0));
$memcache->add('app:stuck_lock', 1, 0, 1000);
$start = microtime(true);
check(!$slow->check('stuck', 1) && $slow->check('stuck', 1), 'a lock that nobody gives back');
check(microtime(true) - $start < 100, 'is not waited for until it expires');
check((int) $memcache->get('app:stuck_lock') % 1000 === 1, 'and left as it is');
// If a native client was killed while it held the lock, other calls do not wait.
$memcache->set('app:killed_lock', 7000, 0, 1000);
$tries = $entered();
check(!$slow->check('killed', 1) && $slow->check('killed', 1), 'a lock of ours');
check($entered() - $tries === 2, 'is not waited for: ' . ($entered() - $tries));
check($memcache->get('app:killed_lock') === false, 'and given back');
echo "done\n";
?>
--EXPECT--
done
