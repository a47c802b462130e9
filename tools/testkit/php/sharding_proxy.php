<?php
/** A proxy of several Redis servers that places a script by its first key, as twemproxy does. */
require_once __DIR__ . '/servers.php';

/** Reads a command or a reply of Redis's protocol as it is. */
function sharded_message($stream): string
{
    $line = (string) fgets($stream);
    $length = (int) substr($line, 1);
    return $line . match ($line[0] ?? '') {
        '$' => $length < 0 ? '' : stream_get_contents($stream, $length + 2),
        '*' => implode('', array_map(fn () => sharded_message($stream), $length > 0 ? range(1, $length) : [])),
        default => '',
    };
}

/** Serves one client after another, and sends each command to the server of its first key. */
function serve_shards($listener, array $sockets): never
{
    while ($client = stream_socket_accept($listener, 600)) {
        $servers = array_map(fn (string $socket) => stream_socket_client("unix://$socket"), $sockets);
        while (($command = sharded_message($client)) !== '') {
            preg_match_all('/\$\d+\r\n(.*?)\r\n/s', $command, $words);
            $words = $words[1];
            $key = preg_match('/^EVAL/i', $words[0]) ? $words[3] : $words[1] ?? '';
            $server = $servers[crc32(md5($key)) % count($servers)];
            fwrite($server, $command);
            fwrite($client, sharded_message($server));
        }
    }
    posix_kill(getmypid(), SIGKILL);
}

/** Returns the port of a proxy of these servers. */
function sharding_proxy(RedisServer ...$servers): int
{
    $listener = stream_socket_server('tcp://127.0.0.1:0');
    $pid = pcntl_fork();
    if ($pid === 0) {
        serve_shards($listener, array_map(fn (RedisServer $server) => $server->socket, $servers));
    }
    $owner = getmypid();
    register_shutdown_function(fn () => getmypid() === $owner && posix_kill($pid, SIGKILL));
    return (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);
}
