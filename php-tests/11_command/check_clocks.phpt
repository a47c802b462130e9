--TEST--
The command tokenbucket warns of a server whose clock is not that of this host
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/clocks.php';
can_set_clocks() || print 'skip libfaketime is missing';
?>
--FILE--
<?php
require __DIR__ . '/check.inc.php';
require __DIR__ . '/../../tools/testkit/php/clocks.php';

$folder = temporary_folder();
$program = exec('command -v memcached') ?: 'memcached';
putenv("PATH=$folder:" . getenv('PATH'));
foreach (['+90s', '-90s'] as $clock) {
    create_with_clock("$folder/memcached", $program, $clock);
    $server = MemcachedServer::startUnix();
    $found = faults("memcached $clock", "memcached://unix://$server->socket");
    echo preg_replace('/\d+\.\d/', 'N', $found['clock']['found']), "\n";
}
foreach (['+90s', '1970-01-02 00:00:00'] as $clock) {
    create_with_clock("$folder/redis", getenv('REDIS_SERVER') ?: 'redis-server', $clock);
    putenv("REDIS_SERVER=$folder/redis");
    $server = RedisServer::start(['--appendonly', 'yes']);
    putenv('REDIS_SERVER');
    faults("redis $clock", "unix://$server->socket");
}
?>
--EXPECT--
memcached +90s: warning clock, status 0
the server is ahead of this host by N s
memcached -90s: warning clock, status 0
the server is behind this host by N s
redis +90s: warning clock, status 0
redis 1970-01-02 00:00:00: failure clock, failure bucket, warning permits, status 1
