--TEST--
Behind twemproxy with its default hash, buckets of neighbouring identifiers grant no more than they hold
--EXTENSIONS--
posix
--SKIPIF--
<?php
if (trim((string) shell_exec('command -v nutcracker')) === '') {
    die('skip nutcracker is not installed');
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

/** A twemproxy of several servers. */
final class Twemproxy extends ServerProcess
{
    /** @param list<RedisServer> $servers */
    public function __construct(private readonly array $servers, private readonly string $hash)
    {
        parent::__construct(true, '');
    }

    protected function arguments(int $port): array
    {
        $servers = array_map(fn (RedisServer $server) => "   - 127.0.0.1:$server->port:1\n", $this->servers);
        file_put_contents("$this->folder/settings.yml", "x:\n  listen: 127.0.0.1:$port\n  hash: $this->hash\n  distribution: ketama\n  redis: true\n  servers:\n" . implode($servers));
        return ['nutcracker', '-c', "$this->folder/settings.yml", '-s', (string) self::free_port(), '-o', "$this->folder/proxy.log"];
    }

    protected function answers(int $port): bool
    {
        return @stream_socket_client("tcp://127.0.0.1:$port") !== false;
    }
}

$servers = [RedisServer::start(), RedisServer::start()];
foreach (['fnv1a_64', 'crc16', 'crc32', 'md5'] as $hash) {
    $proxy = new Twemproxy($servers, $hash);
    $dsn = "redis://127.0.0.1:$proxy->port";
    $granted = [];
    foreach (['' => $dsn, ', as the DSN states' => "$dsn?one_server=0"] as $name => $each) {
        $storage = new TokenBucketStorageRedis($each, "$hash$name:", timeout: PATIENCE, onFailure: TokenBucket\OnFailure::Throw, denialCache: false);
        $site = new TokenBucket($storage, 'site', 100_000, 1e-3);
        // At first, neighbouring identifiers have one server with the default hash.
        foreach ([...range(1000, 1019), ...range(20_000, 300_000, 7919)] as $user) {
            $bucket = new TokenBucket($storage, "user:$user", 5, 1e-6);
            $count = 0;
            for ($call = 0; $call < 8; $call++) {
                $count += (int) TokenBucket::attemptAll([$site, $bucket])->allowed;
            }
            for ($call = 0; $call < 8; $call++) {
                $count += (int) $bucket->consume();
            }
            $granted[$count] = ($granted[$count] ?? 0) + 1;
        }
    }
    echo "$hash: granted ", json_encode($granted), "\n";
    // The control: a script finds only some of these keys.
    $storage = new TokenBucketStorageRedis("$dsn?one_server=1", "wrong $hash:", timeout: PATIENCE, denialCache: false);
    $buckets = array_map(fn (int $user) => new TokenBucket($storage, "user:$user", 5, 1e-6), range(20_000, 300_000, 7919));
    TokenBucket::attemptAll($buckets);
    $left = array_map(fn (TokenBucket $bucket) => $bucket->peek()->remaining, $buckets);
    $scattered[$hash] = in_array(5.0, $left, true) && in_array(4.0, $left, true);
}
// With some hashes, all of these keys are on one server.
check($scattered['fnv1a_64'], 'the proxy places scripts by their first keys');
?>
--EXPECT--
fnv1a_64: granted {"5":112}
crc16: granted {"5":112}
crc32: granted {"5":112}
md5: granted {"5":112}
