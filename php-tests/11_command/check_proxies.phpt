--TEST--
The command tokenbucket names proxies behind which limits do not hold or calls fail
--EXTENSIONS--
pcntl
posix
--FILE--
<?php
require __DIR__ . '/check.inc.php';

/** A HAProxy that sends each new connection to the next Redis server. */
final class Haproxy extends ServerProcess
{
    public static function before(RedisServer ...$servers): self
    {
        return new self($servers);
    }

    /** @param list<RedisServer> $servers */
    protected function __construct(private readonly array $servers)
    {
        parent::__construct(true, '');
    }

    protected function arguments(int $port): array
    {
        $servers = array_map(fn (RedisServer $server) => "  server s$server->port 127.0.0.1:$server->port\n", $this->servers);
        file_put_contents("$this->folder/haproxy.cfg", "defaults\n  mode tcp\n  timeout connect 60s\n  timeout client 60s\n  timeout server 60s\nlisten x\n  bind 127.0.0.1:$port\n  balance roundrobin\n" . implode($servers));
        return ['haproxy', '-db', '-f', "$this->folder/haproxy.cfg"];
    }

    protected function answers(int $port): bool
    {
        return @stream_socket_client("tcp://127.0.0.1:$port") !== false;
    }
}

/** A twemproxy of one memcached server. */
final class Twemproxy extends ServerProcess
{
    public function __construct(private readonly MemcachedServer $server)
    {
        parent::__construct(true, '');
    }

    protected function arguments(int $port): array
    {
        file_put_contents("$this->folder/settings.yml", "x:\n  listen: 127.0.0.1:$port\n  distribution: ketama\n  servers:\n   - 127.0.0.1:{$this->server->port}:1\n");
        return ['nutcracker', '-c', "$this->folder/settings.yml", '-s', (string) self::free_port(), '-o', "$this->folder/proxy.log"];
    }

    protected function answers(int $port): bool
    {
        return @stream_socket_client("tcp://127.0.0.1:$port") !== false;
    }
}

$servers = [RedisServer::start(), RedisServer::start()];
$dsn = 'redis://127.0.0.1:' . Haproxy::before(...$servers)->port;
echo faults('independent servers', $dsn, only: ['proxy'])['proxy']['found'], "\n";
// The control: the same servers as one group.
$servers[1]->command('REPLICAOF', '127.0.0.1', (string) $servers[0]->port);
wait_for('the replica has its primary', fn () => str_contains($servers[1]->command('INFO', 'replication'), 'master_link_status:up'));
faults('a primary and its replica', $dsn, only: ['proxy']);
faults('one server', 'redis://127.0.0.1:' . Haproxy::before($servers[0])->port, only: ['proxy']);

$found = faults('twemproxy', 'memcached://127.0.0.1:' . (new Twemproxy(MemcachedServer::startTcp()))->port)['server'];
echo preg_replace('/\d+/', 'N', $found['found']), " -> $found[advice]\n";
?>
--EXPECT--
independent servers: failure proxy, status 1
new connections reach 2 servers
a primary and its replica: all ok, status 1
one server: all ok, status 0
twemproxy: failure server, status 1
memcached N.N.N does not answer a meta command: N.N.N.N:N: the connection broke -> name the servers instead of a proxy such as twemproxy, which closes the connection
