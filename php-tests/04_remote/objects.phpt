--TEST--
Remote storages as objects: dumps, clones, serialisation, construction twice or never
--FILE--
<?php
require __DIR__ . '/../check.inc.php';

$redis = fn (string $dsn = 'redis://user:secret@h:1/2', mixed ...$more) => new TokenBucketStorageRedis($dsn, ...$more);
$memcached = fn (string|array $servers = ['a', 'b:2?weight=3', 'unix:///run/m.sock']) => new TokenBucketStorageMemcached($servers, 'p');
echo "-- dumps --\n";
var_dump($redis(), $redis('rediss://:secret@[::1]?cafile=/x', 'p'), $redis('unix:///run/r.sock?db=3&password=secret', timeout: 1.0, hints: false));
var_dump($memcached());
print_r(new TokenBucket($memcached('h'), 'x', 1, 1));
foreach ([$redis(), $memcached()] as $storage) {
    $class = get_class($storage);
    echo "-- $class --\n";
    foreach ([
        fn () => clone $storage,
        fn () => serialize($storage),
        fn () => unserialize(sprintf('O:%d:"%s":0:{}', strlen($class), $class)),
        fn () => $storage->__construct($class === 'TokenBucketStorageRedis' ? 'redis://other' : 'other', 'other'),
        fn () => $storage->__construct(''),
        fn () => (new ReflectionClass($storage))->newInstanceWithoutConstructor(),
        fn () => $storage->more = 1,
        fn () => $storage->prefix = 'x',
        fn () => (new ReflectionProperty($storage, 'prefix'))->setValue($storage, 'x'),
    ] as $call) {
        echo thrown($call), "\n";
    }
    echo json_encode(array_values((array) $storage), JSON_UNESCAPED_SLASHES), "\n";
    var_dump((new ReflectionClass($storage))->isFinal(), $storage == clone_of($storage));
}

/** Another object, constructed alike. */
function clone_of(object $storage): object
{
    return $storage instanceof TokenBucketStorageRedis
        ? new TokenBucketStorageRedis('redis://user:secret@h:1/2')
        : new TokenBucketStorageMemcached(['a', 'b:2?weight=3', 'unix:///run/m.sock'], 'p');
}

/** A server's name; while the constructor asks for it, whoever is being constructed is at hand. */
final class Reaching
{
    public static ?object $reached = null;

    public function __construct(private string $name, private ?Closure $meanwhile = null)
    {
    }

    public function __toString(): string
    {
        foreach (debug_backtrace() as $frame) {
            if (($frame['function'] ?? '') === '__construct') {
                self::$reached = $frame['object'];
            }
        }
        ($this->meanwhile ?? fn () => null)(self::$reached);
        return $this->name;
    }
}

foreach (['TokenBucketStorageRedis' => 'redis://h', 'TokenBucketStorageMemcached' => 'h'] as $class => $server) {
    echo "-- $class: one whose constructor has failed, or not ended --\n";
    echo thrown(fn () => new $class(new Reaching("$server?x"))), "\n";
    $unmade = Reaching::$reached;
    var_dump($unmade);
    $bucket = new TokenBucket($unmade, 'x', 1, 1);
    foreach ([
        fn () => var_dump($unmade->prepare()),
        fn () => $unmade->bootstrap('x', 1),
        fn () => $unmade->consume('x', 1, 1, fn () => true),
        fn () => $bucket->consume(),
        fn () => $bucket->attempt(),
        fn () => $bucket->peek(),
        fn () => $bucket->wait(1),
        fn () => $bucket->refund(),
        fn () => $bucket->reset(),
        fn () => TokenBucket::attemptAll([$bucket, $bucket]),
        fn () => clone $unmade,
        fn () => $unmade->prefix,
    ] as $call) {
        echo thrown($call), "\n";
    }
    echo "-- it can be constructed later --\n";
    $unmade->__construct($server, 'later');
    echo json_encode(array_values((array) $unmade), JSON_UNESCAPED_SLASHES), "\n";
    echo "-- but not twice at once --\n";
    echo thrown(fn () => new $class(new Reaching($server, fn ($it) => $it->__construct($server, 'inner')), 'outer')), "\n";
    echo json_encode(array_values((array) Reaching::$reached), JSON_UNESCAPED_SLASHES), "\n";
    Reaching::$reached = null;
}
?>
--EXPECTF--
-- dumps --
object(TokenBucketStorageRedis)#%d (2) {
  ["server":"TokenBucketStorageRedis":private]=>
  string(13) "redis://h:1/2"
  ["prefix":"TokenBucketStorageRedis":private]=>
  string(12) "tokenbucket:"
}
object(TokenBucketStorageRedis)#%d (2) {
  ["server":"TokenBucketStorageRedis":private]=>
  string(21) "rediss://[::1]:6379/0"
  ["prefix":"TokenBucketStorageRedis":private]=>
  string(1) "p"
}
object(TokenBucketStorageRedis)#%d (2) {
  ["server":"TokenBucketStorageRedis":private]=>
  string(23) "unix:///run/r.sock?db=3"
  ["prefix":"TokenBucketStorageRedis":private]=>
  string(12) "tokenbucket:"
}
object(TokenBucketStorageMemcached)#%d (2) {
  ["servers":"TokenBucketStorageMemcached":private]=>
  string(30) "a:11211,b:2,unix:///run/m.sock"
  ["prefix":"TokenBucketStorageMemcached":private]=>
  string(1) "p"
}
TokenBucket Object
(
    [_storage:TokenBucket:private] => TokenBucketStorageMemcached Object
        (
            [servers:TokenBucketStorageMemcached:private] => h:11211
            [prefix:TokenBucketStorageMemcached:private] => p
        )

    [_identifier:protected] => x
    [_bucket_capacity:protected] => 1
    [_tokens_per_second:protected] => 1
)
-- TokenBucketStorageRedis --
Error: Trying to clone an uncloneable object of class TokenBucketStorageRedis
Exception: Serialization of 'TokenBucketStorageRedis' is not allowed
Exception: Unserialization of 'TokenBucketStorageRedis' is not allowed
Error: TokenBucketStorageRedis is constructed already
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must start with redis://, rediss://, unix:// or redis+unix://
ReflectionException: Class TokenBucketStorageRedis is an internal class marked as final that cannot be instantiated without invoking its constructor
Error: Cannot create dynamic property TokenBucketStorageRedis::$more
Error: Cannot access private property TokenBucketStorageRedis::$prefix
Error: Cannot modify readonly property TokenBucketStorageRedis::$prefix
["redis://h:1/2","tokenbucket:"]
bool(true)
bool(true)
-- TokenBucketStorageMemcached --
Error: Trying to clone an uncloneable object of class TokenBucketStorageMemcached
Exception: Serialization of 'TokenBucketStorageMemcached' is not allowed
Exception: Unserialization of 'TokenBucketStorageMemcached' is not allowed
Error: TokenBucketStorageMemcached is constructed already
ValueError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must name at least one server
ReflectionException: Class TokenBucketStorageMemcached is an internal class marked as final that cannot be instantiated without invoking its constructor
Error: Cannot create dynamic property TokenBucketStorageMemcached::$more
Error: Cannot access private property TokenBucketStorageMemcached::$prefix
Error: Cannot modify readonly property TokenBucketStorageMemcached::$prefix
["a:11211,b:2,unix:///run/m.sock","p"]
bool(true)
bool(true)
-- TokenBucketStorageRedis: one whose constructor has failed, or not ended --
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have no options other than cafile, servername, db, user and password (in a password, "?" is "%3F")
object(TokenBucketStorageRedis)#%d (0) {
  ["server":"TokenBucketStorageRedis":private]=>
  uninitialized(string)
  ["prefix":"TokenBucketStorageRedis":private]=>
  uninitialized(string)
}
NULL
nothing thrown
Error: The TokenBucketStorageRedis object has not been constructed
Error: The TokenBucketStorageRedis object has not been constructed
Error: The TokenBucketStorageRedis object has not been constructed
Error: The TokenBucketStorageRedis object has not been constructed
Error: The TokenBucketStorageRedis object has not been constructed
Error: The TokenBucketStorageRedis object has not been constructed
Error: The TokenBucketStorageRedis object has not been constructed
Error: The TokenBucketStorageRedis object has not been constructed
Error: The TokenBucketStorageRedis object has not been constructed
Error: Trying to clone an uncloneable object of class TokenBucketStorageRedis
Error: Cannot access private property TokenBucketStorageRedis::$prefix
-- it can be constructed later --
["redis://h:6379/0","later"]
-- but not twice at once --
Error: TokenBucketStorageRedis is constructed already
["redis://h:6379/0","inner"]
-- TokenBucketStorageMemcached: one whose constructor has failed, or not ended --
ValueError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must have no option other than weight
object(TokenBucketStorageMemcached)#%d (0) {
  ["servers":"TokenBucketStorageMemcached":private]=>
  uninitialized(string)
  ["prefix":"TokenBucketStorageMemcached":private]=>
  uninitialized(string)
}
NULL
nothing thrown
Error: The TokenBucketStorageMemcached object has not been constructed
Error: The TokenBucketStorageMemcached object has not been constructed
Error: The TokenBucketStorageMemcached object has not been constructed
Error: The TokenBucketStorageMemcached object has not been constructed
Error: The TokenBucketStorageMemcached object has not been constructed
Error: The TokenBucketStorageMemcached object has not been constructed
Error: The TokenBucketStorageMemcached object has not been constructed
Error: The TokenBucketStorageMemcached object has not been constructed
Error: The TokenBucketStorageMemcached object has not been constructed
Error: Trying to clone an uncloneable object of class TokenBucketStorageMemcached
Error: Cannot access private property TokenBucketStorageMemcached::$prefix
-- it can be constructed later --
["h:11211","later"]
-- but not twice at once --
Error: TokenBucketStorageMemcached is constructed already
["h:11211","inner"]
