--TEST--
No password is shown: not by exceptions, warnings, traces, dumps, phpinfo() or status()
--EXTENSIONS--
pcntl
--INI--
zend.exception_ignore_args=0
zend.exception_string_param_max_len=1000
log_errors=0
--FILE--
<?php
require __DIR__ . '/../check.inc.php';
require __DIR__ . '/tls.inc.php';

// A long one, of more than what Redis quotes of a command that it does not know.
const PASSWORDS = [
    'plain' => 'hunter2-planted',
    'with signs' => 'p@ss:w%rd "planted" \'x\'/?#',
    'long' => 'planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789planted0123456789',
];

/** Which spellings of a password are in a text, or a part of it long enough to be of use. */
function found(string $text, string $password): array
{
    $found = [];
    foreach ([
        'as it is' => $password, 'encoded' => rawurlencode($password), 'escaped' => addcslashes($password, "'\\\""),
        'its head' => substr($password, 0, 8), 'its tail' => substr($password, -8),
        'base64' => base64_encode($password),
    ] as $how => $spelling) {
        if (str_contains($text, $spelling)) {
            $found[] = $how;
        }
    }
    return $found;
}

/** All that can be seen of an exception; its trace holds who threw it. */
function seen_of(Throwable $e): string
{
    ob_start();
    var_dump($e->getTrace());
    print_r($e);
    debug_zval_dump($e);
    return ob_get_clean() . $e->getMessage() . $e . $e->getTraceAsString() . var_export(array_map(
        // Exporting an object that holds itself is an error; traces hold none here but storages.
        fn ($frame) => array_diff_key($frame, ['object' => 0]), $e->getTrace()
    ), true) . serialize(array_map(fn ($frame) => $frame['function'] ?? '', $e->getTrace()));
}

/** All that can be seen of a storage, a bucket in it, and what the extension tells. */
function seen(TokenBucketStorage $storage): string
{
    $bucket = new TokenBucket($storage, 'x', 1, 1);
    ob_start();
    foreach ([$storage, $bucket, (array) $storage, get_mangled_object_vars($storage)] as $value) {
        var_dump($value);
        print_r($value);
        var_export($value);
        debug_zval_dump($value);
        echo json_encode($value);
    }
    foreach ((new ReflectionClass($storage))->getProperties() as $property) {
        var_dump($property->getValue($storage));
    }
    var_dump(TokenBucket\status());
    phpinfo(INFO_MODULES);
    return ob_get_clean();
}

/** What the test itself knows is kept where no trace, dump or closure shows it. */
final class Planted
{
    public static string $password = '';
    public static array $arguments = [];
    public static string $class = '';
    public static string $seen = '';

    public static function storage(TokenBucket\OnFailure $policy): TokenBucketStorage
    {
        return new self::$class(...self::$arguments, onFailure: $policy);
    }

    public static function warned(int $level, string $message): bool
    {
        self::$seen .= $message . print_r(debug_backtrace(), true) . seen_of(new ErrorException($message));
        return true;
    }
}

/** Looks at all there is; what was seen must be something. */
function look(string $what): void
{
    Planted::$seen = '';
    $exceptions = 0;
    try {
        // The first of an outage is warned of, and the third is the last that asks.
        $local = Planted::storage(TokenBucket\OnFailure::Local);
        (new TokenBucket($local, 'x', 1, 1))->consume();
        check(str_contains(Planted::$seen, 'until it is back'), "$what: no warning");
        Planted::$seen .= seen($local);
        $throwing = Planted::storage(TokenBucket\OnFailure::Throw);
        foreach (['attempt', 'reset', 'consume', 'peek', 'refund'] as $method) {
            try {
                (new TokenBucket($throwing, 'x', 1, 1))->$method();
            } catch (TokenBucket\StorageException $e) {
                Planted::$seen .= seen_of($e);
                $exceptions++;
            }
        }
        Planted::$seen .= seen($throwing);
    } catch (ValueError $e) {
        Planted::$seen .= seen_of($e);
        $exceptions++;
    }
    $found = found(Planted::$seen, Planted::$password);
    check($found === [], "$what: " . implode(', ', $found) . around(Planted::$seen));
    check($exceptions > 0 && strlen(Planted::$seen) > 1000, "$what: nothing failed");
}

/** Where in a text the password's head or tail is. */
function around(string $text): string
{
    foreach ([substr(Planted::$password, 0, 8), substr(Planted::$password, -8)] as $part) {
        if (($place = strpos($text, $part)) !== false) {
            return ': ' . substr($text, max(0, $place - 100), 400);
        }
    }
    return '';
}

set_error_handler(Planted::warned(...));
echo "-- the control: what looks finds --\n";
foreach (PASSWORDS as $password) {
    $told = fn (string $dsn): Exception => new RuntimeException('told');
    $shown = seen_of($told("redis://:$password@h"));
    check(array_diff(['as it is', 'its head', 'its tail'], found($shown, $password)) === [], 'a trace shows an argument');
    check(in_array('encoded', found('AUTH ' . rawurlencode($password), $password), true), 'an encoded one is found');
}
$secured = RedisServer::start(['--requirepass', 'right']);
// Redis quotes a command that it does not know, and what begins its arguments.
$renamed = RedisServer::start(['--rename-command', 'AUTH', '']);
$open = RedisServer::start();
$tls = new TlsRedis;
$free = stream_socket_server('tcp://127.0.0.1:0');
$closed = substr(strrchr(stream_socket_get_name($free, false), ':'), 1);
fclose($free);
$database = 0;
foreach (PASSWORDS as $kind => $password) {
    $encoded = rawurlencode($password);
    foreach ([
        'wrong password' => "redis://:$encoded@127.0.0.1:$secured->port/{db}",
        'wrong password, unix' => "unix://$secured->socket?password=$encoded&db={db}",
        'wrong user' => "redis://someone:$encoded@127.0.0.1:$secured->port/{db}",
        'no password is set' => "unix://$open->socket?password=$encoded&db={db}",
        'AUTH is unknown' => "unix://$renamed->socket?password=$encoded&db={db}",
        'AUTH is unknown, with a user' => "redis://u:$encoded@127.0.0.1:$renamed->port/{db}",
        'refused' => "redis://:$encoded@127.0.0.1:$closed/{db}",
        'no socket' => "unix:///nowhere/r.sock?password=$encoded&db={db}",
        'no such name' => "redis://:$encoded@no-such-host.invalid/{db}",
        'not a TLS server' => "rediss://:$encoded@127.0.0.1:$open->port/{db}?servername=localhost&cafile=$tls->ca_file",
        'another name' => $tls->dsn(":$encoded@", null, 'example.com', '{db}'),
        'another CA' => "rediss://:$encoded@127.0.0.1:$tls->port/{db}?servername=localhost",
        'no CA file' => $tls->dsn(":$encoded@", '/nowhere.pem', database: '{db}'),
        'a CA file that is none' => $tls->dsn(":$encoded@", __FILE__, database: '{db}'),
        'malformed: port' => "redis://:$encoded@h:port",
        'malformed: scheme' => "reddis://:$encoded@h",
        'malformed: option' => "unix:///r.sock?passwd=$encoded",
        'malformed: database' => "redis://:$encoded@h/x",
        'malformed: fragment' => "redis://:$encoded#@h",
        'malformed: escape' => "redis://:$encoded%@h",
        'malformed: NUL' => "redis://:$encoded\0@h",
        'malformed: UTF-8' => "redis://:$encoded\xff@h",
    ] as $what => $dsn) {
        if (is_slow() && str_starts_with($dsn, 'rediss')) {
            // To valgrind what the cipher's assembly makes is uninitialised.
            continue;
        }
        Planted::$class = TokenBucketStorageRedis::class;
        Planted::$password = $password;
        // Another database is another store, whose failures are counted apart.
        Planted::$arguments = ['dsn' => str_replace('{db}', (string) ++$database, $dsn), 'prefix' => $what, 'timeout' => is_slow() ? 10.0 : 0.5];
        look("$kind: $what");
    }
    Planted::$arguments = ['dsn' => "redis://:$encoded@h", 'timeout' => -1.0];
    look("$kind: timeout");
    Planted::$arguments = ['timeout' => 1.0, 'dsn' => "redis://:$encoded@h", 'hintMaxAge' => -1.0];
    look("$kind: named");
    Planted::$arguments = ['timeout' => 1.0, 'dsn' => "redis://:$encoded@h", 'retries' => 1];
    echo thrown(fn () => Planted::storage(TokenBucket\OnFailure::Local)), "\n";
}

echo "-- the control: what a storage of another kind would show --\n";
Planted::$class = TokenBucketStorageMemcached::class;
Planted::$password = 'planted0';
Planted::$arguments = ['servers' => 'unix:///nowhere/planted0'];
ob_start();
look('');
echo str_contains(ob_get_clean(), 'FAILED') ? 'found' : 'missed', "\n";
?>
--EXPECT--
-- the control: what looks finds --
Error: Unknown named parameter $retries
Error: Unknown named parameter $retries
Error: Unknown named parameter $retries
-- the control: what a storage of another kind would show --
found
