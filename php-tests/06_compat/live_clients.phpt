--TEST--
MinuteWindow and ClientThrottle accept the same clients as the limiters that they replace
--EXTENSIONS--
memcache
igbinary
msgpack
memcached
redis
--INI--
error_reporting=8191
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/memcached_models.inc.php';
require __DIR__ . '/in_time.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\Compat\MinuteWindow;

$server = MemcachedServer::startTcp();
$unix = MemcachedServer::startUnix();
$redis = RedisServer::start();
/** Functions that create a client, which the test uses at once. */
$clients = [
    'Memcache' => function () use ($server): Memcache {
        $memcache = new Memcache;
        $memcache->addServer('127.0.0.1', $server->port);
        return $memcache;
    },
    'Memcache, connected' => function () use ($server): Memcache {
        $memcache = new Memcache;
        $memcache->connect('127.0.0.1', $server->port);
        return $memcache;
    },
    'Memcache, socket' => function () use ($unix): Memcache {
        $memcache = new Memcache;
        $memcache->connect("unix://$unix->socket", 0);
        return $memcache;
    },
    'MemcachePool' => function () use ($server): MemcachePool {
        $memcache = new MemcachePool;
        $memcache->connect('127.0.0.1', $server->port);
        return $memcache;
    },
    'Memcached' => function () use ($server): Memcached {
        $memcached = new Memcached;
        $memcached->setOption(Memcached::OPT_PREFIX_KEY, 'mine:');
        $memcached->addServer('127.0.0.1', $server->port);
        return $memcached;
    },
    'Redis' => function () use ($redis): Redis {
        $client = new Redis;
        $client->connect($redis->socket);
        return $client;
    },
];
foreach ($clients as $what => $client) {
    in_time(fn () => in_one_minute(function () use ($what, $client) {
        $id = uniqid();
        $cache = $client();
        $window = new MinuteWindow($cache, $id);
        check(allows($window, 2, 5) && allows($window, 2, 5) && !allows($window, 2, 5), "$what: a window");
        $throttle = new ClientThrottle($cache);
        check(!$throttle->check($id, 1) && $throttle->check($id, 1), "$what: a throttle");
        if ($cache instanceof Redis) {
            check((int) $cache->get("tokenbucket:rate$id" . date('dHi')) === 3, "$what: the counter");
        } else {
            check((int) $cache->get("rate$id" . date('dHi')) === 3, "$what: the counter");
            check($cache->get("throttle_$id") !== false, "$what: the record");
        }
    }));
}

echo "-- ext-memcache puts a text of its settings before each key --\n";
$run = fn (array $ini) => print(preg_replace('/127.0.0.1:\d+/', 'address', php_run(
    "require '" . __DIR__ . "/../../tools/testkit/php/check.php'; require '" . __DIR__ . "/in_time.inc.php';" . <<<'PHP'
        error_reporting(E_ALL & ~E_DEPRECATED);
        $memcache = new Memcache;
        $memcache->addServer("127.0.0.1", (int) $argv[1]);
        in_time(function () use ($memcache) {
            $memcache->delete("throttle_who");
            echo thrown(fn () => (new TokenBucket\Compat\ClientThrottle($memcache))->check("who", 5)), "\n";
            echo json_encode($memcache->get("throttle_who")["tokens"] ?? null), "\n";
        });
        echo thrown(fn () => print_r(TokenBucketStorageMemcached::fromClient($memcache, "p:"))), "\n";
        PHP, $ini + ['tokenbucket.failure_report' => 'none'], (string) $server->port
)));
$run(['memcache.prefix_static_key' => 'site_']);
$run(['memcache.prefix_host_key' => '1']);

echo "-- clients that cannot be used --\n";
$two = $clients['Memcache']();
$two->addServer('127.0.0.1', 1);
foreach ([
    'two servers' => fn () => new MinuteWindow($two, 'x'),
    'two servers for a storage' => fn () => TokenBucketStorageMemcached::fromClient($two),
    'a Memcached without a server' => fn () => new ClientThrottle(new Memcached),
    'a Memcache without a server' => fn () => @new ClientThrottle(new Memcache),
    'a Redis that is not connected' => fn () => new MinuteWindow(new Redis, 'x'),
    'another object' => fn () => new ClientThrottle(new stdClass),
    'no object' => fn () => new ClientThrottle('127.0.0.1:11211'),
] as $what => $call) {
    echo "$what: ", thrown($call), "\n";
}
?>
--EXPECT--
-- ext-memcache puts a text of its settings before each key --
nothing thrown
4000
TokenBucketStorageMemcached Object
(
    [servers:TokenBucketStorageMemcached:private] => address
    [prefix:TokenBucketStorageMemcached:private] => site_p:
)
nothing thrown
ValueError: TokenBucket\Compat\ClientThrottle::__construct(): Argument #1 ($storage) must not use memcache.prefix_host_key
null
ValueError: TokenBucketStorageMemcached::fromClient(): Argument #1 ($client) must not use memcache.prefix_host_key
-- clients that cannot be used --
two servers: ValueError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #1 ($storage) must have one server if it is a Memcache, which places keys in its own way; name the servers in the constructor of TokenBucketStorageMemcached instead
two servers for a storage: ValueError: TokenBucketStorageMemcached::fromClient(): Argument #1 ($client) must have one server if it is a Memcache, which places keys in its own way; name the servers in the constructor of TokenBucketStorageMemcached instead
a Memcached without a server: ValueError: TokenBucket\Compat\ClientThrottle::__construct(): Argument #1 ($storage) must have a server
a Memcache without a server: ValueError: TokenBucket\Compat\ClientThrottle::__construct(): Argument #1 ($storage) must have a server
a Redis that is not connected: ValueError: TokenBucket\Compat\MinuteWindow::__construct(): Argument #1 ($storage) must be connected
another object: TypeError: TokenBucket\Compat\ClientThrottle::__construct(): Argument #1 ($storage) must be one of the extension's own storages, or a client of type Memcached, Memcache or Redis
no object: TypeError: TokenBucket\Compat\ClientThrottle::__construct(): Argument #1 ($storage) must be one of the extension's own storages, or a client of type Memcached, Memcache or Redis
