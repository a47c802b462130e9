--TEST--
TokenBucketStorageMemcached::fromClient() uses the servers, prefix and hashing of a client
--EXTENSIONS--
memcache
igbinary
msgpack
memcached
--FILE--
<?php
require __DIR__ . '/memcached_models.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\MinuteWindow;
use TokenBucket\OnFailure;

$servers = [MemcachedServer::startTcp(), MemcachedServer::startTcp(), MemcachedServer::startTcp()];
$addresses = array_map(fn ($server) => ['127.0.0.1', $server->port], $servers);
$client = function (array $options, int $count, int $times = 1) use ($addresses): Memcached {
    $client = new Memcached;
    $client->setOptions($options);
    // A persistent client gets its servers again in each request.
    $client->addServers(array_merge(...array_fill(0, $times, array_slice($addresses, 0, $count))));
    return $client;
};
$keyed = [Memcached::OPT_PREFIX_KEY => 'mine:'];
foreach ([
    'one' => [[], 1],
    'one with a prefix' => [$keyed, 1],
    'modula' => [[], 3],
    'modula with a prefix' => [$keyed, 3],
    'ketama' => [[Memcached::OPT_LIBKETAMA_COMPATIBLE => true], 3],
    'ketama with a prefix' => [[Memcached::OPT_LIBKETAMA_COMPATIBLE => true] + $keyed, 3],
    'ketama by the prefix' => [
        [Memcached::OPT_LIBKETAMA_COMPATIBLE => true, Memcached::OPT_HASH_WITH_PREFIX_KEY => true] + $keyed, 3,
    ],
    'consistent' => [[Memcached::OPT_DISTRIBUTION => Memcached::DISTRIBUTION_CONSISTENT], 3],
    'modula, added three times' => [[], 3, 3],
    'ketama, added three times' => [[Memcached::OPT_LIBKETAMA_COMPATIBLE => true], 3, 3],
    'consistent, added three times' => [[Memcached::OPT_DISTRIBUTION => Memcached::DISTRIBUTION_CONSISTENT], 3, 3],
] as $what => $arguments) {
    $memcached = $client(...$arguments);
    $storage = TokenBucketStorageMemcached::fromClient($memcached, timeout: PATIENCE, onFailure: OnFailure::Throw);
    check($storage instanceof TokenBucketStorageMemcached, 'a storage');
    in_one_minute(function () use ($memcached, $storage, $what) {
        $missing = 0;
        for ($i = 0; $i < 30; $i++) {
            $id = uniqid();
            check((new TokenBucket($storage, $id, 1, 1))->consume(), "$what: a bucket");
            $missing += (int) ($memcached->get("tokenbucket:$id") === false);
            // The counters of a window are on several servers.
            $window = new MinuteWindow($storage, $id);
            check(allows($window, 2, 5) && allows($window, 2, 5) && !allows($window, 2, 5), "$what: a window");
            $missing += (int) ((int) $memcached->get("rate$id" . date('dHi')) !== 3);
            // The lock may be on another server than the record.
            $throttle = new ClientThrottle($storage);
            check(!$throttle->check($id, 1) && $throttle->check($id, 1), "$what: a throttle");
            $missing += (int) ($memcached->get("throttle_$id") === false);
            check($memcached->get("throttle_{$id}_lock") === false, "$what: a lock is left");
        }
        check($missing === 0, "$what: the client misses $missing of 90");
    });
}
print_r($storage);

$unix = MemcachedServer::startUnix();
$memcached = new Memcached;
$memcached->addServer($unix->socket, 0);
$storage = TokenBucketStorageMemcached::fromClient($memcached, 'p:', PATIENCE, OnFailure::Throw);
(new TokenBucket($storage, 'a', 1, 1))->consume();
check($memcached->get('p:a') !== false, 'a socket');

class Subclass extends Memcached
{
}
$memcached = new Subclass;
echo thrown(fn () => TokenBucketStorageMemcached::fromClient($memcached)), "\n";
$memcached->addServer('127.0.0.1', 11211);
echo thrown(fn () => TokenBucketStorageMemcached::fromClient($memcached)), "\n";
$memcached->addServer('127.0.0.1', 11212);
$memcached->setOption(Memcached::OPT_HASH, Memcached::HASH_CRC);
echo thrown(fn () => TokenBucketStorageMemcached::fromClient($memcached)), "\n";
$weighted = new Memcached;
$weighted->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
$weighted->addServers([['127.0.0.1', 11211, 1], ['127.0.0.1', 11212, 9]]);
echo thrown(fn () => TokenBucketStorageMemcached::fromClient($weighted)), "\n";
echo thrown(fn () => @TokenBucketStorageMemcached::fromClient(new Memcache)), "\n";
echo thrown(fn () => TokenBucketStorageMemcached::fromClient(new stdClass)), "\n";
echo thrown(fn () => TokenBucketStorageMemcached::fromClient('127.0.0.1')), "\n";
echo thrown(fn () => TokenBucketStorageMemcached::fromClient($memcached, timeout: 0.0)), "\n";
?>
--EXPECTF--
TokenBucketStorageMemcached Object
(
    [servers:TokenBucketStorageMemcached:private] => 127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d
    [prefix:TokenBucketStorageMemcached:private] => tokenbucket:
)
ValueError: TokenBucketStorageMemcached::fromClient(): Argument #1 ($client) must have a server
nothing thrown
ValueError: TokenBucketStorageMemcached::fromClient(): Argument #1 ($client) must place keys by ketama, consistently or modulo the number of servers, all of one weight; name the servers and their weights in the constructor instead
ValueError: TokenBucketStorageMemcached::fromClient(): Argument #1 ($client) must place keys by ketama, consistently or modulo the number of servers, all of one weight; name the servers and their weights in the constructor instead
ValueError: TokenBucketStorageMemcached::fromClient(): Argument #1 ($client) must have a server
TypeError: TokenBucketStorageMemcached::fromClient(): Argument #1 ($client) must be a client of type Memcached or Memcache
TypeError: TokenBucketStorageMemcached::fromClient(): Argument #1 ($client) must be a client of type Memcached or Memcache
ValueError: TokenBucketStorageMemcached::fromClient(): Argument #3 ($timeout) must be greater than 0
