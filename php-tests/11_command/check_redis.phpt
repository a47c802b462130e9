--TEST--
The command tokenbucket checks a Redis server, and leaves no key on it
--EXTENSIONS--
pcntl
posix
--FILE--
<?php
require __DIR__ . '/check.inc.php';
require __DIR__ . '/../../tools/testkit/php/sharding_proxy.php';

$redis = RedisServer::start(['--appendonly', 'yes', '--maxclients', '100']);
$dsn = "unix://$redis->socket";
echo implode(' ', array_keys(faults('a server', $dsn))), "\n";
check($redis->command('KEYS', '*') === [], 'nothing is left');

$user = fn (string $rights): array => [$redis->command('ACL', 'SETUSER', 'limiter', 'reset', 'on', '>geheim', ...explode(' ', $rights)), "$dsn?user=limiter&password=geheim"];
$documented = '~tokenbucket:* +eval +evalsha +get +set +pttl +time';
faults('the documented user', $user($documented)[1]);
check($redis->command('KEYS', '*') === [], 'nothing is left, without the right to delete');
faults('a user of permits', $user("$documented +info +del +pexpire +zadd +zcard +zrangebyscore +zrem +zremrangebyscore +zscore")[1]);
foreach (['+time', '+evalsha', '+eval', '+set', '+pttl', '+get'] as $right) {
    $found = faults("without $right", $user(implode(' ', array_diff(explode(' ', "$documented +info"), [$right])))[1]);
    $right === '+set' && print "  {$found['rights']['found']} -> {$found['rights']['advice']}\n";
}
$found = faults('keys with another prefix', $user("$documented +info")[1], '--prefix=other:');
echo "  {$found['rights']['found']} -> {$found['rights']['advice']}\n";
faults('a derived clock', $user(str_replace('+time', '+pexpiretime +pexpire +persist +del', "$documented +info"))[1]);

foreach ([
    ['maxmemory-policy allkeys-lru', 'maxmemory 1gb'], ['maxmemory-policy noeviction', 'maxmemory 1'], ['maxmemory 0', 'appendonly no'],
] as $settings) {
    foreach ($settings as $setting) {
        $redis->command('CONFIG', 'SET', ...explode(' ', $setting));
    }
    faults(implode(', ', $settings), $dsn);
}
$redis->command('CONFIG', 'SET', 'appendonly', 'yes');
faults('too many workers', $dsn, '--pool=101');
faults('as many as it accepts', $dsn, '--pool=100');
faults('a timeout that no server meets', $dsn, '--timeout=0.0000001', '');
echo preg_replace('/^.*: /', '', faults('a wrong password', "$dsn?user=limiter&password=geheimnis")['server']['found']), "\n";

echo "-- other servers\n";
$renamed = RedisServer::start(['--appendonly', 'yes', '--rename-command', 'PTTL', '', '--rename-command', 'EVALSHA', '']);
faults('without PTTL and EVALSHA', "unix://$renamed->socket");
faults('a proxy of one server', 'redis://127.0.0.1:' . sharding_proxy($redis));
$others = [RedisServer::start(['--appendonly', 'yes']), RedisServer::start(['--appendonly', 'yes'])];
faults('a proxy of three servers', 'redis://127.0.0.1:' . sharding_proxy($redis, ...$others));
foreach ([$redis, ...$others] as $server) {
    check($server->command('KEYS', '*') === [], 'nothing is left behind a proxy');
}
$others[0]->command('REPLICAOF', '127.0.0.1', (string) $redis->port);
faults('a replica', "unix://{$others[0]->socket}");

echo "-- the address\n";
putenv("TOKENBUCKET_DSN=$dsn");
echo preg_match_all('/^ok /m', run_check('--timeout=30'), $lines), " lines from the environment\n";
putenv('TOKENBUCKET_DSN');
echo preg_match_all('/^ok /m', run_check('--timeout=30 -', "echo '$dsn' |"), $lines), " lines from standard input\n";
echo run_check(''), run_check("'redis://:geheim@h:port'"), run_check("'http://:geheim@h'"), run_check("a 'b:geheim'");
$redis->signal('STOP');
faults('a server that hangs', $dsn, '', '--deadline=1');
$redis->kill();
echo preg_replace('/\d+/', 'N', faults('a server that is down', "redis://:geheim@127.0.0.1:$redis->port")['server']['found']), "\n";
?>
--EXPECT--
a server: all ok, status 0
server latency rights scripts time clock expiry bucket permits proxy memory persistence clients
the documented user: warning server, warning permits, warning memory, warning persistence, warning clients, status 0
a user of permits: all ok, status 0
without +time: failure time, warning clock, failure bucket, warning permits, status 1
without +evalsha: failure rights, failure scripts, failure bucket, warning permits, status 1
without +eval: failure rights, failure time, warning clock, warning permits, failure proxy, status 1
without +set: failure rights, failure expiry, failure bucket, warning permits, status 1
  the user may not run +set -> ACL SETUSER … +set
without +pttl: failure rights, failure expiry, failure bucket, warning permits, status 1
without +get: failure rights, failure bucket, warning permits, status 1
keys with another prefix: failure rights, failure scripts, failure time, warning clock, failure expiry, failure bucket, warning permits, failure proxy, status 1
  the user may not use keys that begin with other: -> ACL SETUSER … ~other:*
a derived clock: warning time, warning clock, warning permits, status 0
maxmemory-policy allkeys-lru, maxmemory 1gb: warning memory, status 0
maxmemory-policy noeviction, maxmemory 1: failure rights, failure expiry, failure bucket, warning permits, failure memory, status 1
maxmemory 0, appendonly no: warning persistence, status 0
too many workers: failure clients, status 1
as many as it accepts: warning clients, status 0
a timeout that no server meets: failure latency, status 1
a wrong password: failure server, status 1
WRONGPASS invalid username-password pair or user is disabled.
-- other servers
without PTTL and EVALSHA: failure rights, failure scripts, failure expiry, failure bucket, warning permits, status 1
a proxy of one server: all ok, status 0
a proxy of three servers: warning proxy, status 0
a replica: failure rights, failure expiry, failure bucket, warning permits, failure persistence, status 1
-- the address
13 lines from the environment
13 lines from standard input
tokenbucket: no DSN: pass it as an argument, in TOKENBUCKET_DSN, or on standard input with "-"
Try: tokenbucket help
status 2
tokenbucket: TokenBucketStorageRedis::__construct(): Argument #1 ($dsn) must have a port between 1 and 65535
status 2
tokenbucket: the DSN must begin with redis:, rediss:, unix:, redis+sentinel:, redis+cluster:, redis+ring:, memcached:, mysql:, pgsql: or sqlite:
Try: tokenbucket help
status 2
tokenbucket: wrong number of arguments for check
Try: tokenbucket help
status 2
a server that hangs: failure server, status 1
a server that is down: failure server, status 1
cannot connect: Connection refused (os error N)
