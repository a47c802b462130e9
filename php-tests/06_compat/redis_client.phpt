--TEST--
TokenBucketStorageRedis::fromClient(): the settings of a live client, a connection of its own
--EXTENSIONS--
igbinary
redis
--FILE--
<?php
require __DIR__ . '/../check.inc.php';
require __DIR__ . '/../servers.inc.php';

$server = RedisServer::start(['--requirepass', 'pa:ss@/%']);
$server->command('ACL', 'SETUSER', 'bob', 'on', '>secret', '~*', '+@all');
$storage = fn (Redis $redis) => TokenBucketStorageRedis::fromClient($redis, timeout: 5.0, onFailure: TokenBucket\OnFailure::Throw);
$keys = function (int $database) use ($server): array {
    $redis = new Redis;
    $redis->connect($server->socket);
    $redis->auth('pa:ss@/%');
    $redis->select($database);
    $keys = $redis->keys('*');
    $redis->flushAll();
    return $keys;
};

// A port, a password, a database, a prefix.
$redis = new Redis;
$redis->connect('127.0.0.1', $server->port);
$redis->auth('pa:ss@/%');
$redis->select(3);
$redis->setOption(Redis::OPT_PREFIX, 'app:');
$redis->setOption(Redis::OPT_SERIALIZER, Redis::SERIALIZER_IGBINARY);
$bucket = new TokenBucket($storage($redis), 'user', 10, 0.001);
check($bucket->consume(), 'a port');
check($keys(3) === ['app:tokenbucket:user'], 'the client\'s prefix stands before ours');
$own = TokenBucketStorageRedis::fromClient($redis, 'mine:', 5.0, TokenBucket\OnFailure::Throw, false, 0.5);
(new TokenBucket($own, 'user', 10, 0.001))->consume();
check($keys(3) === ['app:mine:user'], 'ours');

// The storage stays as it is, whatever becomes of the client.
$kept = $storage($redis);
$redis->select(5);
$redis->close();
unset($redis);
check((new TokenBucket($kept, 'user', 10, 0.001))->consume() && $keys(3) === ['app:tokenbucket:user'], 'the client is gone');

// A socket, a user; the ways to say a password.
foreach ([['bob', 'secret'], ['pa:ss@/%'], 'pa:ss@/%', ['user' => 'bob', 'pass' => 'secret']] as $auth) {
    $redis = new Redis;
    $redis->connect($server->socket);
    $redis->auth($auth);
    check((new TokenBucket($storage($redis), 'user', 10, 0.001))->consume(), json_encode($auth));
    check($keys(0) === ['tokenbucket:user'], 'database 0');
}
$dump = print_r($storage($redis), true) . var_export((array) $storage($redis), true) . json_encode($storage($redis));
check(!str_contains($dump, 'secret') && !str_contains($dump, 'pa:ss'), $dump);

// A storage in a limiter, from a client, asked once; the raw key has the client's prefix, too.
$redis->setOption(Redis::OPT_PREFIX, 'app:');
$limiter = new TokenBucket\Compat\RateLimiter('key', 3, 3600);
$limiter->redis = $redis;
check([$limiter->handler(), $limiter->handler(), $limiter->handler(), $limiter->handler()] === [true, true, true, false], 'a limiter');
check(json_decode($redis->get('key'))->num < 1 && $limiter->redis === $redis, 'the client sees its key');
$redis->flushAll();
$other = new Redis;
$other->connect($server->socket);
$other->auth(['bob', 'secret']);
$limiter->redis = $other;
check($limiter->handler() && $keys(0) === ['key'], 'another client');
$bucket = new TokenBucket\Compat\LeakyBucket($redis);
check($bucket->request('127.0.0.1', 'login') && $redis->zScore('set06', '127.0.0.1-login') === 1.0, 'sets');

// A cycle over the client is collected.
class Application extends Redis
{
    public $limiter;
}
$application = new Application;
$application->connect($server->socket);
$application->auth(['bob', 'secret']);
$application->limiter = new TokenBucket\Compat\RateLimiter('cycle');
$application->limiter->redis = $application;
check($application->limiter->handler(), 'a client that extends Redis');
$gone = WeakReference::create($application->limiter);
unset($application);
gc_collect_cycles();
check($gone->get() === null, 'a cycle');

// What is no connected client.
echo thrown(fn () => TokenBucketStorageRedis::fromClient(new Redis)), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient(new stdClass)), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient('redis://localhost')), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient()), "\n";
echo thrown(fn () => TokenBucketStorageRedis::fromClient($redis, timeout: 0)), "\n";
$limiter->redis = new Redis;
echo thrown(fn () => $limiter->handler()), "\n";

// Clients that are of no use, and addresses that are rare.
class Client
{
    public function __construct(private array $says) {}
    public function isConnected() { return $this->says['connected'] ?? true; }
    public function getHost() { return $this->says['host'] ?? 'localhost'; }
    public function getPort() { return $this->says['port'] ?? 6379; }
    public function getAuth() { return $this->says['auth'] ?? null; }
    public function getDbNum() { return $this->says['db'] ?? 0; }
    public function getOption($option) { return $option === 2 ? ($this->says['prefix'] ?? null) : throw new Exception("$option"); }
}
class Failing extends Client
{
    public function getAuth() { throw new DomainException('not told'); }
}
foreach ([
    ['host' => 'tls://Cache.example.com', 'port' => 6380], ['host' => 'ssl://127.0.0.1'], ['host' => '::1'], ['host' => '[::1]'],
    ['host' => 'tcp://a'], ['auth' => ''], ['auth' => ['default', '']], ['prefix' => "\0"],
    ['host' => 'http://a'], ['host' => 'a b'], ['host' => ''], ['port' => 0], ['port' => 70000], ['host' => "/\xff"],
    ['auth' => "geheim\xff"], ['host' => '/' . str_repeat('x', 200)], ['host' => null, 'connected' => false], ['auth' => [['geheim'], 1]],
    ['db' => -1], ['db' => false],
] as $says) {
    $said = thrown(function () use ($says) {
        $array = (array) TokenBucketStorageRedis::fromClient(new Client($says));
        echo json_encode(array_values($array)), "\n";
    });
    echo $said === 'nothing thrown' ? '' : "$said\n";
}
echo thrown(fn () => TokenBucketStorageRedis::fromClient(new Failing([]))), "\n";
?>
--EXPECT--
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be connected
TypeError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be a client of type Redis
TypeError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be a client of type Redis
ArgumentCountError: TokenBucketStorageRedis::fromClient() expects at least 1 argument, 0 given
ValueError: TokenBucketStorageRedis::fromClient(): Argument #3 ($timeout) must be greater than 0
ValueError: TokenBucket\Compat\RateLimiter::$redis must be connected
["rediss:\/\/cache.example.com:6380\/0","tokenbucket:"]
["rediss:\/\/127.0.0.1:6379\/0","tokenbucket:"]
["redis:\/\/[::1]:6379\/0","tokenbucket:"]
["redis:\/\/[::1]:6379\/0","tokenbucket:"]
["redis:\/\/a:6379\/0","tokenbucket:"]
["redis:\/\/localhost:6379\/0","tokenbucket:"]
["redis:\/\/localhost:6379\/0","tokenbucket:"]
["redis:\/\/localhost:6379\/0","\u0000tokenbucket:"]
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must start with redis://, rediss://, unix:// or redis+unix://
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a host of letters, digits, ".", "-" and "_", or an IPv6 address in brackets
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a host
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a port between 1 and 65535
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a port between 1 and 65535
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a host of valid UTF-8
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a user and a password of valid UTF-8
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a socket path of at most 107 bytes
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be connected
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a user and a password of valid UTF-8
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a database
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a database
DomainException: not told
