--TEST--
No password is shown when the server refuses it or cannot be reached
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
zend.exception_ignore_args=0
zend.exception_string_param_max_len=1000
log_errors=0
--FILE--
<?php
require __DIR__ . '/secrets.inc.php';

$secured = RedisServer::start(['--requirepass', 'right']);
// Redis quotes an unknown command and the beginning of its arguments.
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
        'a file that holds no CA certificate' => $tls->dsn(":$encoded@", __FILE__, database: '{db}'),
    ] as $what => $dsn) {
        if (is_slow() && str_starts_with($dsn, 'rediss')) {
            // Skips TLS under valgrind, which reports the output of the cipher's assembly code as
            // uninitialised.
            continue;
        }
        Planted::$class = TokenBucketStorageRedis::class;
        Planted::$password = $password;
        // Uses another database each time, because each is a separate store with its own count of
        // failures.
        Planted::$arguments = ['dsn' => str_replace('{db}', (string) ++$database, $dsn), 'prefix' => $what, 'timeout' => is_slow() ? 10.0 : 0.5];
        look("$kind: $what");
    }
}
echo "done\n";
?>
--EXPECT--
done
