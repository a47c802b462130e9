--TEST--
Errors that Redis returns are reported, or cause a retry if they are recoverable
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$throw = TokenBucket\OnFailure::Throw;
$database = 0;
// Uses a separate database for each bucket, so that failures of one bucket do not open the breaker
// of another.
$bucket = function (RedisServer $redis, string $userinfo = '', string $query = '') use (&$database, $throw): TokenBucket {
    $database = ($database + 1) % 16;
    return new TokenBucket(
        new TokenBucketStorageRedis("redis://{$userinfo}127.0.0.1:$redis->port/$database$query", 'p:', PATIENCE, $throw, false), 'x', 5, 0.001
    );
};
$say = fn (string $what, callable $call) => print("$what: " . preg_replace(['~redis://127.0.0.1:\d+/\d+~', '/ script: .*| on @user.*/'], ['store', ''], thrown($call)) . "\n");

$secured = RedisServer::start(['--requirepass', 'right']);
$say('no password', fn () => $bucket($secured)->consume());
$say('a wrong one', fn () => $bucket($secured, ':wrong@')->consume());
$say('the right one', fn () => $bucket($secured, ':right@')->consume());
$say('a user that there is not', fn () => $bucket($secured, 'nobody:right@')->consume());
$secured->command('ACL', 'SETUSER', 'limited', 'on', '>pw', '~other:*', '+@all');
$say('a user without these keys', fn () => $bucket($secured, 'limited:pw@')->consume());
$secured->command('ACL', 'SETUSER', 'muted', 'on', '>pw', '~*', '+@all', '-eval', '-evalsha');
$say('a user without scripts', fn () => $bucket($secured, 'muted:pw@')->consume());
$secured->command('ACL', 'SETUSER', 'least', 'on', '>pw', '~p:*', '-@all', '+eval', '+evalsha', '+get', '+set', '+pttl', '+time', '+select', '+auth');
$secured->command('ACL', 'SETUSER', 'fixed', 'on', '>pw', '~*', '+@all', '-select');
$say('a user without databases', fn () => $bucket($secured, 'fixed:pw@')->consume());
check($secured->command('DBSIZE') === 0, 'no other database is used instead: ' . json_encode($secured->command('KEYS', '*')));
$say('a user who may do no more than needed', function () use ($bucket, $secured) {
    $least = $bucket($secured, 'least:pw@');
    check($least->consume(5) && !$least->consume(), 'decides');
    $least->refund();
    $least->reset();
    check(TokenBucket::attemptAll([$least])->allowed, 'all');
});

$redis = RedisServer::start();
$say('a database that there is not', fn () => (new TokenBucket(new TokenBucketStorageRedis("redis://127.0.0.1:$redis->port/16", 'p:', PATIENCE, $throw), 'x', 5, 1))->consume());
check($redis->command('DBSIZE') === 0, 'no other database is used instead: ' . json_encode($redis->command('KEYS', '*')));
$redis->command('CONFIG', 'SET', 'maxmemory', '1');
$say('no memory', fn () => $bucket($redis)->consume());
$redis->command('CONFIG', 'SET', 'maxmemory', '0');
$redis->command('REPLICAOF', '127.0.0.1', '1');
$say('a replica', fn () => $bucket($redis)->consume());
$redis->command('REPLICAOF', 'NO', 'ONE');
$say('a primary', fn () => $bucket($redis)->consume());
$held = stream_socket_client("unix://$redis->socket");
/** Sends a line to Redis on a separate connection, and returns the reply. */
$tell = function (string $line) use ($held): string {
    fwrite($held, "$line\r\n");
    return rtrim(fgets($held));
};
$tell('CLIENT KILL TYPE normal');
check($tell('CONFIG SET maxclients 1') === '+OK', 'one client is the most');
$say('too many clients', fn () => $bucket($redis)->consume());
$say('too many clients, without a database', fn () => (new TokenBucket(new TokenBucketStorageRedis("redis://127.0.0.1:$redis->port", 'p:', PATIENCE, $throw), 'x', 5, 1))->consume());
check($tell('CONFIG SET maxclients 1000') === '+OK', 'more are fine');
fclose($held);

echo "-- events that are not failures --\n";
$before = TokenBucket\status()['remote'];
$x = $bucket($redis);
check($x->consume(), 'connected');
foreach ([
    'its scripts are flushed' => fn () => $redis->command('SCRIPT', 'FLUSH'),
    'its connections are killed' => fn () => $redis->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
    'its connections were idle for too long' => function () use ($redis) {
        $redis->command('CONFIG', 'SET', 'timeout', '1');
        wait_for('the server ends idle connections', fn () => substr_count($redis->command('CLIENT', 'LIST'), "\n") === 1);
        $redis->command('CONFIG', 'SET', 'timeout', '0');
    },
    'it was restarted' => fn () => $redis->restart(),
] as $what => $event) {
    $x->reset();
    $event();
    echo "$what: ", json_encode($x->attempt(2)->remaining), "\n";
}
check(TokenBucket\status()['remote']['failed'] === $before['failed'], 'nothing failed');
$states = array_unique(array_column(TokenBucket\status()['stores'], 'failures'));
sort($states);
echo json_encode($states), "\n";
?>
--EXPECTF--
no password: TokenBucket\StorageException: store: it answered: NOAUTH Authentication required.
a wrong one: TokenBucket\StorageException: store: it answered: WRONGPASS invalid username-password pair or user is disabled.
the right one: nothing thrown
a user that there is not: TokenBucket\StorageException: store: it answered: WRONGPASS invalid username-password pair or user is disabled.
a user without these keys: TokenBucket\StorageException: store: it answered: NOPERM %spermissions to access %skey%S
a user without scripts: TokenBucket\StorageException: store: it answered: NOPERM %s permissions to run the 'evalsha' command
a user without databases: TokenBucket\StorageException: store: it answered: NOPERM %s permissions to run the 'select' command
a user who may do no more than needed: nothing thrown
a database that there is not: TokenBucket\StorageException: store: it answered: ERR DB index is out of range
no memory: TokenBucket\StorageException: store: it answered: OOM command not allowed when used memory > 'maxmemory'.
a replica: TokenBucket\StorageException: store: it answered: READONLY You can't write against a read only replica.
a primary: nothing thrown
too many clients: TokenBucket\StorageException: store: it answered: ERR max number of clients reached
too many clients, without a database: TokenBucket\StorageException: store: it answered: ERR max number of clients reached
-- events that are not failures --
its scripts are flushed: 3
its connections are killed: 3
its connections were idle for too long: 3
it was restarted: 3
[0,1]
