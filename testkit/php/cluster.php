<?php
require_once __DIR__ . '/servers.php';

/**
 * Starts a Redis cluster of three servers without replicas. Returns when each server knows all
 * slots.
 *
 * @param list<string> $options as on the command line of each server
 * @return list<RedisServer>
 */
function start_cluster(array $options = []): array
{
    $servers = [];
    foreach (range(0, 2) as $index) {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        $bus = substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);
        fclose($listener);
        $server = RedisServer::start(['--cluster-enabled', 'yes', '--cluster-port', $bus, ...$options]);
        $server->command('CLUSTER', 'SET-CONFIG-EPOCH', (string) ($index + 1));
        $first = intdiv($index * 16384, 3);
        $last = intdiv(($index + 1) * 16384, 3) - 1;
        $server->command('CLUSTER', 'ADDSLOTSRANGE', (string) $first, (string) $last);
        foreach ($servers as $other) {
            $other->command('CLUSTER', 'MEET', '127.0.0.1', (string) $server->port, $bus);
        }
        $servers[] = $server;
    }
    $deadline = microtime(true) + 10;
    foreach ($servers as $server) {
        while (
            count($server->command('CLUSTER', 'SLOTS')) < 3
            || !str_contains($server->command('CLUSTER', 'INFO'), 'cluster_state:ok')
        ) {
            usleep(10_000);
            if (microtime(true) > $deadline) {
                throw new RuntimeException('A cluster does not start');
            }
        }
    }
    return $servers;
}
