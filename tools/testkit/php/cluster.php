<?php
require_once __DIR__ . '/servers.php';

/**
 * Starts a Redis cluster of three primaries. Returns when each server knows all slots.
 *
 * @param list<string> $options as on the command line of each server
 * @param int $replicas the number of replicas of each primary
 * @return list<RedisServer> the primaries and then their replicas, in the same order
 */
function start_cluster(array $options = [], int $replicas = 0): array
{
    take_places(3);
    $servers = array_map(fn () => start_cluster_node($options), range(1, 3 + 3 * $replicas));
    foreach ($servers as $index => $server) {
        $server->command('CLUSTER', 'SET-CONFIG-EPOCH', (string) ($index + 1));
        if ($index < 3) {
            $slots = range(intdiv($index * 16384, 3), intdiv(($index + 1) * 16384, 3) - 1);
            $server->command('CLUSTER', 'ADDSLOTS', ...array_map(strval(...), $slots));
        }
        meet($server, $servers[0]);
    }
    foreach (array_slice($servers, 3) as $index => $replica) {
        $primary = $servers[$index % 3]->command('CLUSTER', 'MYID');
        wait_for('a cluster knows its servers', fn () => str_contains($replica->command('CLUSTER', 'NODES'), $primary));
        $replica->command('CLUSTER', 'REPLICATE', $primary);
    }
    foreach ($servers as $server) {
        wait_for('a cluster is complete', fn () => is_complete($server, 1 + $replicas));
    }
    return $servers;
}

/** Starts a server that belongs to no cluster yet. */
function start_cluster_node(array $options = []): RedisServer
{
    $has_option = RedisServer::major_version() >= 7;
    return RedisServer::on_free_ports(fn () => RedisServer::start([
        ...($has_option ? ['--cluster-port', (string) RedisServer::free_port()] : []),
        '--cluster-enabled', 'yes', ...$options,
    ]));
}

/** Makes two servers of a cluster known to each other. */
function meet(RedisServer $server, RedisServer $other): void
{
    if ($server !== $other) {
        // Before Redis 7, the port for other servers is always 10,000 higher than that for clients.
        $has_option = RedisServer::major_version() >= 7;
        $bus = $has_option ? $other->option('--cluster-port') : (string) ($other->port + 10_000);
        $server->command('CLUSTER', 'MEET', '127.0.0.1', (string) $other->port, $bus);
    }
}

/** Reports whether a server knows all slots, and $servers servers of each. */
function is_complete(RedisServer $server, int $servers): bool
{
    $ranges = $server->command('CLUSTER', 'SLOTS');
    return str_contains($server->command('CLUSTER', 'INFO'), 'cluster_state:ok')
        && count($ranges) >= 3
        && min(array_map(count(...), $ranges)) >= 2 + $servers;
}
