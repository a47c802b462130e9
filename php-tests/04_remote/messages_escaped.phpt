--TEST--
Messages escape bytes that could forge a log line, control a terminal or begin an HTML tag
--EXTENSIONS--
pcntl
posix
pdo
pdo_sqlite
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\OnFailure;

const FOUL = "a\nPHP Fatal error: forged\0\x1b[31m<script>\"\\\xff\xc3\xa4";

/** Returns the messages of all warnings and of the exception that $call causes. */
function messages(callable $call): string
{
    $messages = [];
    set_error_handler(function (int $level, string $message) use (&$messages): bool {
        $messages[] = $message;
        return true;
    });
    try {
        $call();
    } catch (Throwable $e) {
        $messages[] = get_class($e) . ': ' . $e->getMessage();
    }
    restore_error_handler();
    return implode(' | ', $messages);
}

/** Prints a message without the parts that differ between runs. Checks that it is clean. */
function show_clean(string $what, string $message): void
{
    check(preg_match('/^[\x20-\x7e]+$/D', $message) === 1, "$what: " . json_encode($message, JSON_INVALID_UTF8_SUBSTITUTE));
    check(!str_contains($message, '<'), "$what: a tag: $message");
    echo "$what: ", preg_replace(['~/dev/shm/tokenbucket-test-[^/]*|/tmp/tokenbucket-test-[^/]*~', '/127\.0\.0\.1:\d+/'], ['folder', 'address'], $message), "\n";
}

/** Starts a server that answers every request with $reply. Returns its port. */
function server_of(string $reply): int
{
    $server = stream_socket_server('tcp://127.0.0.1:0');
    $parent = getmypid();
    $child = pcntl_fork();
    if ($child === 0) {
        while (($client = @stream_socket_accept($server, 60)) !== false) {
            while ((string) fread($client, 65536) !== '' && @fwrite($client, $reply)) {
            }
        }
        posix_kill(getmypid(), SIGKILL);
    }
    register_shutdown_function(fn () => getmypid() === $parent && posix_kill($child, SIGKILL));
    return (int) substr(strrchr(stream_socket_get_name($server, false), ':'), 1);
}

$consume = fn (TokenBucketStorage $storage) => fn () => (new TokenBucket($storage, FOUL, 1, 1))->consume();
$folder = temporary_folder();
$slow = 5.0;

echo "-- replies of servers --\n";
$line = str_replace("\n", "\v", FOUL);
// The Redis client accepts only UTF-8 in a reply.
$redis = server_of('-ERR ' . str_replace("\xff", '', $line) . "\r\n");
$memcached = server_of("SERVER_ERROR $line\r\n");
foreach ([OnFailure::Throw, OnFailure::Allow] as $policy) {
    show_clean("Redis, $policy->name", messages($consume(new TokenBucketStorageRedis("redis://127.0.0.1:$redis", 'p', $slow, $policy))));
    show_clean("memcached, $policy->name", messages($consume(new TokenBucketStorageMemcached("127.0.0.1:$memcached", 'p', $slow, $policy))));
}

echo "-- paths --\n";
$path = "$folder/a<script>\"\\\xc3\xa4";
show_clean('Redis', messages($consume(new TokenBucketStorageRedis('unix://' . implode('/', array_map(rawurlencode(...), explode('/', $path))), 'p', $slow, OnFailure::Throw))));
show_clean('memcached', messages($consume(new TokenBucketStorageMemcached("unix://$path", 'p', $slow, OnFailure::Throw))));
show_clean('a CA file', messages($consume(new TokenBucketStorageRedis("rediss://127.0.0.1:$redis/0?cafile=" . rawurlencode($path), 'p', $slow, OnFailure::Throw))));
foreach (TokenBucket\status()['stores'] as $store) {
    check(preg_match('/^[\x20-\x7e]+$/D', $store['name']) === 1 && !str_contains($store['name'], '<'), "status(): $store[name]");
}

echo "-- databases --\n";
class Foul extends PDO
{
    public function prepare(string $query, array $options = []): PDOStatement|false
    {
        throw new PDOException(FOUL);
    }
}
class FoulInfo extends Foul
{
    public function errorInfo(): array
    {
        return ["HY\n<", 1, FOUL];
    }
}
foreach ([Foul::class, FoulInfo::class] as $class) {
    show_clean($class, messages($consume(new TokenBucketStoragePDO(new $class('sqlite::memory:'), 't', OnFailure::Throw))));
    show_clean($class, messages($consume(new TokenBucketStoragePDO(new $class('sqlite::memory:'), 't', OnFailure::Allow))));
}

echo "-- keys --\n";
$down = new TokenBucketStorageMemcached('unix:///nowhere', 'p', $slow, OnFailure::Allow);
class OwnKey extends ClientThrottle
{
    protected function key($id)
    {
        return FOUL;
    }
}
show_clean('an id', messages(fn () => (new ClientThrottle($down))->check(FOUL, 1)));
show_clean('a key', messages(fn () => (new OwnKey($down))->check('x', 1)));

echo "-- settings --\n";
$value = "a\x1b<script>\\\xff\xc3\xa4";
foreach (['shm_size', 'shm_full', 'shm_mode', 'shm_group', 'track_identifiers', 'shm_path'] as $setting) {
    $said = trim(php_run('', ["tokenbucket.$setting" => $value]));
    show_clean($setting, str_replace(' in Unknown on line 0', '', $said));
}
$said = trim(php_run('', ['tokenbucket.shm_size' => 'a\"; \"b']));
show_clean('quotes', str_replace(' in Unknown on line 0', '', $said));

echo "-- phpinfo() --\n";
$info = php_run('(new TokenBucket(new TokenBucketStorageMemcached("unix:///nowhere<b>", "p", 1, TokenBucket\OnFailure::Allow), "x", 1, 1))->consume(); phpinfo(INFO_MODULES);', [
    'tokenbucket.shm_path' => "$folder/a\x1b<script>\xff", 'display_errors' => '0',
]);
preg_match_all('/^(?:Shared memory|Store) => .*$/m', $info, $rows);
foreach ($rows[0] as $row) {
    show_clean('a row', preg_replace('/, calls 1, .* s ago/', '', $row));
}
?>
--EXPECT--
-- replies of servers --
Redis, Throw: TokenBucket\StorageException: redis://address/0: it answered: ERR a\x0bPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xc3\xa4
memcached, Throw: TokenBucket\StorageException: memcached at address: it answered: a\x0bPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xef\xbf\xbd\xc3\xa4
Redis, Allow: TokenBucket::consume(): redis://address/0: it answered: ERR a\x0bPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xc3\xa4; allowing all calls until it recovers
memcached, Allow: TokenBucket::consume(): memcached at address: it answered: a\x0bPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xef\xbf\xbd\xc3\xa4; allowing all calls until it recovers
-- paths --
Redis: TokenBucket\StorageException: unix://folder/a%3Cscript%3E%22%5C%C3%A4?db=0: cannot connect: No such file or directory (os error 2)
memcached: TokenBucket\StorageException: memcached at unix://folder/a%3Cscript%3E%22%5C%C3%A4: cannot connect: No such file or directory (os error 2)
a CA file: TokenBucket\StorageException: rediss://address/0: CA file folder/a\x3cscript>"\\\xc3\xa4 cannot be read: No such file or directory (os error 2)
-- databases --
Foul: TokenBucket\StorageException: sqlite table t: the statement failed: a\nPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xef\xbf\xbd\xc3\xa4
Foul: TokenBucket::consume(): sqlite table t: the statement failed: a\nPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xef\xbf\xbd\xc3\xa4; allowing all calls
FoulInfo: TokenBucket\StorageException: sqlite table t: the statement failed: SQLSTATE[HY\n\x3c] 1: a\nPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xef\xbf\xbd\xc3\xa4
FoulInfo: TokenBucket::consume(): sqlite table t: the statement failed: SQLSTATE[HY\n\x3c] 1: a\nPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xef\xbf\xbd\xc3\xa4; allowing all calls
-- keys --
an id: Unable to obtain lock ob throttle_a\nPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xff\xc3\xa4
a key: Unable to obtain lock ob a\nPHP Fatal error: forged\x00\x1b[31m\x3cscript>"\\\xff\xc3\xa4
-- settings --
shm_size: Warning: tokenbucket: tokenbucket.shm_size must be a size of 4K to 256G, "a\x1b\x3cscript>\\\xc3\xa4" given; using the default
shm_full: Warning: tokenbucket: tokenbucket.shm_full must be "evict" or "refuse", "a\x1b\x3cscript>\\\xc3\xa4" given; using the default
shm_mode: Warning: tokenbucket: tokenbucket.shm_mode must be an octal mode such as 0600, "a\x1b\x3cscript>\\\xc3\xa4" given; using the default
shm_group: Warning: tokenbucket: tokenbucket.shm_group must be a group, "a\x1b\x3cscript>\\\xc3\xa4" given; using the default
track_identifiers: Warning: tokenbucket: tokenbucket.track_identifiers must be 0 or 1, "a\x1b\x3cscript>\\\xc3\xa4" given; using the default
shm_path: Warning: tokenbucket: the segment a\x1b\x3cscript>\\\xc3\xa4 is refused (not an absolute path of a file); using private shared memory instead
quotes: Warning: tokenbucket: tokenbucket.shm_size must be a size of 4K to 256G, "a'; 'b" given; using the default
-- phpinfo() --
a row: Shared memory => named folder/a\x1b\x3cscript>
a row: Store => memcached at unix:///nowhere%3Cb%3E: up: cannot connect: No such file or directory (os error 2)
