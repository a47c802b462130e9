--TEST--
Calls on a storage whose constructor failed throw an Error, until one constructor at a time succeeds
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

/** A server name whose conversion to a string stores the object under construction in $reached. */
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

const SERVERS = ['TokenBucketStorageRedis' => 'redis://h', 'TokenBucketStorageMemcached' => 'h'];
fold_equal_lines();
foreach (SERVERS as $class => $server) {
    echo thrown(fn () => new $class(new Reaching("$server?x"))), "\n";
}
alike(array_keys(SERVERS), function (string $class): void {
    $server = SERVERS[$class];
    thrown(fn () => new $class(new Reaching("$server?x")));
    $unmade = Reaching::$reached;
    ob_start();
    var_dump($unmade);
    print_values(substr_count(ob_get_clean(), 'uninitialized(string)'), $unmade->prepare());
    $bucket = new TokenBucket($unmade, 'x', 1, 1);
    foreach ([
        fn () => $unmade->bootstrap('x', 1),
        fn () => $unmade->consume('x', 1, 1, fn () => true),
        fn () => $bucket->consume(),
        fn () => $bucket->attempt(),
        fn () => $bucket->peek(),
        fn () => $bucket->wait(1),
        fn () => $bucket->refund(),
        fn () => $bucket->reset(),
        fn () => $bucket->block(1),
        fn () => TokenBucket::attemptAll([$bucket, $bucket]),
        fn () => clone $unmade,
        fn () => $unmade->prefix,
    ] as $call) {
        echo thrown($call), "\n";
    }
    echo "-- can be constructed later --\n";
    $unmade->__construct($server, 'later');
    echo array_values((array) $unmade)[1], "\n";
    echo "-- cannot be constructed twice at once --\n";
    echo thrown(fn () => new $class(new Reaching($server, fn ($it) => $it->__construct($server, 'inner')), 'outer')), "\n";
    echo array_values((array) Reaching::$reached)[1], "\n";
    Reaching::$reached = null;
});
?>
--EXPECT--
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have no options other than cafile, certfile, keyfile, servername, db, user, password, sentinel_user, sentinel_password, hash_tags, one_server, weights and take_ahead (in a password, "?" is "%3F")
ValueError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must have no option other than weight
2 null
Error: The … object has not been constructed (10 times)
Error: Trying to clone an uncloneable object of class …
Error: Cannot access private property …::$prefix
-- can be constructed later --
later
-- cannot be constructed twice at once --
Error: … has already been constructed
inner
