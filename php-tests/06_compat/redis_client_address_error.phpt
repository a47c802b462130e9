--TEST--
fromClient() reports the part of an address or of credentials that it cannot use
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
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
["rediss:\/\/cache.example.com:6380\/0","tokenbucket:"]
["rediss:\/\/127.0.0.1:6379\/0","tokenbucket:"]
["redis:\/\/[::1]:6379\/0","tokenbucket:"] (2 times)
["redis:\/\/a:6379\/0","tokenbucket:"]
["redis:\/\/localhost:6379\/0","tokenbucket:"] (2 times)
["redis:\/\/localhost:6379\/0","\u0000tokenbucket:"]
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must start with redis://, rediss://, unix://, redis+cluster://, redis+ring:// or redis+sentinel://
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a host of letters, digits, ".", "-" and "_", or an IPv6 address in brackets
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a host
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a port between 1 and 65535 (2 times)
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a host of valid UTF-8
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a user and a password of valid UTF-8
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a socket path of at most 107 bytes
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must be connected
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a user and a password of valid UTF-8
ValueError: TokenBucketStorageRedis::fromClient(): Argument #1 ($redis) must have a database (2 times)
DomainException: not told
