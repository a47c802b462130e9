--TEST--
Constructors of remote storages accept named arguments, and convert values unless strict_types is on
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/both_modes.php';

const SERVERS = ['TokenBucketStorageRedis' => 'redis://h', 'TokenBucketStorageMemcached' => 'h'];

final class Server
{
    public function __construct(private string $name)
    {
    }

    public function __toString(): string
    {
        return $this->name;
    }
}

in_both_modes(function (callable $new): void {
    /** Prints a property of the new storage, what the constructor throws, and PHP's own message. */
    $construct = function (string $what, int $property, string $class, mixed ...$arguments) use ($new): void {
        echo "$what: ", thrown(function () use ($property, $new, $class, $arguments): void {
            $storage = @$new($class, ...$arguments);
            echo json_encode(array_values((array) $storage)[$property]), ' ';
        }), ' ', error_get_last()['message'] ?? '', "\n";
        error_clear_last();
    };
    foreach (SERVERS as $class => $server) {
        $construct('server', 0, $class, new Server($server));
        $construct('number as a server', 0, $class, 5);
    }
    alike(array_keys(SERVERS), function (string $class) use ($construct): void {
        foreach ([
            'prefix' => 5, 'null as a prefix' => null, 'timeout' => '0.5', 'integer as a timeout' => 1, 'true as a timeout' => true,
            'text as a timeout' => '1 s', 'denialCache' => 0, 'text as denialCache' => '', 'null as denialCache' => null,
            'denialCacheMaxAge' => ' 2.5', 'integer as denialCacheMaxAge' => 2,
        ] as $what => $value) {
            $argument = preg_replace('/.* /', '', $what);
            $construct($what, 1, $class, ...[SERVERS[$class], $argument => $value]);
        }
        $construct('named arguments in any order, some omitted', 1, $class, ...[
            'denialCacheMaxAge' => 1.0,
            'prefix' => 'p',
            $class === 'TokenBucketStorageRedis' ? 'dsn' : 'servers' => SERVERS[$class],
            'onFailure' => TokenBucket\OnFailure::Deny,
        ]);
    });
});
?>
--EXPECTF--
server: "redis:\/\/h:6379\/0" nothing thrown 
number as a server: ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix://, redis+cluster://, redis+ring:// or redis+sentinel:// 
server: "h:11211" nothing thrown 
number as a server: "5:11211" nothing thrown 
prefix: "5" nothing thrown 
null as a prefix: "" nothing thrown …::__construct(): Passing null to parameter #2 ($prefix) of type string is deprecated
timeout: "tokenbucket:" nothing thrown 
integer as a timeout: "tokenbucket:" nothing thrown 
true as a timeout: "tokenbucket:" nothing thrown 
text as a timeout: TypeError: …::__construct(): Argument #3 ($timeout) must be of type float, string given 
denialCache: "tokenbucket:" nothing thrown 
text as denialCache: "tokenbucket:" nothing thrown 
null as denialCache: "tokenbucket:" nothing thrown …::__construct(): Passing null to parameter #5 ($denialCache) of type bool is deprecated
denialCacheMaxAge: "tokenbucket:" nothing thrown 
integer as denialCacheMaxAge: "tokenbucket:" nothing thrown 
named arguments in any order, some omitted: "p" nothing thrown 

-- under strict_types --
server: TypeError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must be of type string, Server given 
number as a server: TypeError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must be of type string, int given 
server: TypeError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must be of type array|string, Server given 
number as a server: TypeError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must be of type array|string, int given 
prefix: TypeError: …::__construct(): Argument #2 ($prefix) must be of type string, int given 
null as a prefix: TypeError: …::__construct(): Argument #2 ($prefix) must be of type string, null given 
timeout: TypeError: …::__construct(): Argument #3 ($timeout) must be of type float, string given 
true as a timeout: TypeError: …::__construct(): Argument #3 ($timeout) must be of type float, %rbool|true%r given 
denialCache: TypeError: …::__construct(): Argument #5 ($denialCache) must be of type bool, int given 
text as denialCache: TypeError: …::__construct(): Argument #5 ($denialCache) must be of type bool, string given 
null as denialCache: TypeError: …::__construct(): Argument #5 ($denialCache) must be of type bool, null given 
denialCacheMaxAge: TypeError: …::__construct(): Argument #6 ($denialCacheMaxAge) must be of type float, string given 
