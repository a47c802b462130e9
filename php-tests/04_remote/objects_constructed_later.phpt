--TEST--
A storage whose constructor failed can be constructed again, but only once at a time
--FILE--
<?php
require __DIR__ . '/objects.inc.php';

foreach (['TokenBucketStorageRedis' => 'redis://h', 'TokenBucketStorageMemcached' => 'h'] as $class => $server) {
    echo "-- $class: can be constructed later --\n";
    echo thrown(fn () => new $class(new Reaching("$server?x"))), "\n";
    $unmade = Reaching::$reached;
    $unmade->__construct($server, 'later');
    echo json_encode(array_values((array) $unmade), JSON_UNESCAPED_SLASHES), "\n";
    echo "-- cannot be constructed twice at once --\n";
    echo thrown(fn () => new $class(new Reaching($server, fn ($it) => $it->__construct($server, 'inner')), 'outer')), "\n";
    echo json_encode(array_values((array) Reaching::$reached), JSON_UNESCAPED_SLASHES), "\n";
    Reaching::$reached = null;
}
?>
--EXPECT--
-- TokenBucketStorageRedis: can be constructed later --
ValueError: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have no options other than cafile, certfile, keyfile, servername, db, user, password, sentinel_user, sentinel_password, hash_tags and take_ahead (in a password, "?" is "%3F")
["redis://h:6379/0","later"]
-- cannot be constructed twice at once --
Error: TokenBucketStorageRedis has already been constructed
["redis://h:6379/0","inner"]
-- TokenBucketStorageMemcached: can be constructed later --
ValueError: TokenBucketStorageMemcached::__construct(): Argument #1 ($servers) must have no option other than weight
["h:11211","later"]
-- cannot be constructed twice at once --
Error: TokenBucketStorageMemcached has already been constructed
["h:11211","inner"]
