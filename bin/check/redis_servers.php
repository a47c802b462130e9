<?php
/** The probes of the servers behind a DSN of Redis, and of how they find each other. */
namespace TokenBucket\Command\Check;

const NO_INFO = 'run the check once as a user with +info';

trait RedisServers
{
    /** @var list<?string> the addresses of the primaries; null for the only server */
    private array $primaries = [null];

    private function sentinels(): Finding
    {
        preg_match('~://[^/]*/([^/?]+)~', $this->dsn, $found);
        $question = ['SENTINEL', 'get-master-addr-by-name', $found[1]];
        $answers = $this->storage->sendCommands([$question], $this->settings->patience() / 2);
        $named = $failed = [];
        foreach ($answers as $sentinel => $replies) {
            $reply = is_array($replies) ? $replies[0] : ['error' => $replies];
            if (isset($reply['error'])) {
                $failed[] = "$sentinel: {$reply['error']}";
            } else {
                $named[] = $reply === null ? '' : self::address(...$reply);
            }
        }
        $votes = array_count_values($named);
        arsort($votes);
        $primary = (string) key($votes);
        if ($primary === '') {
            return Finding::failure($votes === [] ? implode('; ', $failed) : "the sentinels do not know $found[1]", 'correct the addresses of the sentinels, their user and the name of the primary');
        }
        $this->primaries = [$this->home = $primary];
        $count = count($answers);
        return match (true) {
            count($votes) > 1 => Finding::warning('the sentinels name several primaries: ' . implode(', ', array_keys($votes)), 'wait until the failover is over, and look at the sentinels'),
            $failed !== [] => Finding::warning(count($failed) . " of $count sentinels fail: " . implode('; ', $failed), 'repair these sentinels'),
            $count === 1 => Finding::warning("one sentinel names $primary", 'list all sentinels in the DSN'),
            default => Finding::ok("$count sentinels name $primary"),
        };
    }

    /** Reads the map of a cluster from the first server of the DSN that has one. */
    private function slots(): Finding
    {
        $failed = [];
        foreach ($this->storage->sendCommands([['CLUSTER', 'SLOTS']], $this->settings->patience() / 2) as $server => $replies) {
            $error = is_array($replies) ? self::error($replies[0]) : $replies;
            if ($error !== '' || $replies[0] === []) {
                $failed[] = "$server: " . ($error ?: 'it knows no slots');
                continue;
            }
            return $this->mapped($replies[0], $server, $failed);
        }
        return Finding::failure(implode('; ', $failed), 'correct the addresses, or grant +cluster|slots; for a server without a cluster, begin the DSN with redis:// or rediss://');
    }

    private function mapped(array $ranges, string $server, array $failed): Finding
    {
        usort($ranges, fn (array $a, array $b) => $a[0] <=> $b[0]);
        [$next, $gaps, $primaries] = [0, [], []];
        foreach ($ranges as $range) {
            [$first, $last, [$host, $port]] = $range;
            // A server that does not know its own address leaves it out.
            $host = $host ?: preg_replace('~^.*://(.*):\d+/.*$~', '$1', $server);
            $address = self::address(trim($host, '[]'), (string) $port);
            $first > $next && $gaps[] = "$next-" . $first - 1;
            $next = $last + 1;
            $primaries[$address] = $address;
        }
        $next < 16_384 && $gaps[] = "$next-16383";
        $this->primaries = array_values($primaries);
        $this->home = $this->primaries[0];
        $count = count($primaries);
        return match (true) {
            $gaps !== [] => Finding::failure('no server has the slots ' . implode(', ', $gaps), 'repair the cluster: calls for these keys fail, and without cluster-require-full-coverage no, all calls'),
            $failed !== [] => Finding::warning(implode('; ', $failed), 'repair these servers, or list others in the DSN'),
            default => Finding::ok("$count servers have all slots"),
        };
    }

    /** Finds the servers of a ring that answer. The others fail the calls for their keys. */
    private function ring(): Finding
    {
        $failed = $primaries = [];
        foreach ($this->storage->sendCommands([['PING']], $this->settings->patience() / 2) as $server => $replies) {
            $error = is_array($replies) ? preg_replace('/^(PONG|NOPERM.*)$/', '', self::error($replies[0]) ?: $replies[0]) : $replies;
            $error === '' ? $primaries[] = preg_replace('~^.*://(.*)/\d+$~', '$1', $server) : $failed[] = "$server: $error";
        }
        $this->primaries = $primaries;
        $count = count($primaries);
        return $failed === []
            ? Finding::ok("$count servers answer")
            : Finding::failure(implode('; ', $failed), 'repair these servers: calls for their keys fail, and no other server has these keys');
    }

    /** Asks each primary for a key. It answers with the value, or with the server of the key. */
    private function members(): Finding
    {
        return $this->each(function (?string $address): Finding {
            $key = $this->settings->prefix . $this->settings->name;
            try {
                $error = self::error($this->ask($address, ['GET', $key])[0]);
            } catch (Unanswered $unanswered) {
                $error = $unanswered->getMessage();
            }
            return preg_match('/^(MOVED|NOPERM|$)/', $error) === 1
                ? Finding::ok('it answers')
                : Finding::failure($error, 'repair the server, or make its announced address reachable from this host');
        });
    }

    private function each(\Closure $probe): Finding
    {
        return Finding::each($this->primaries, $probe);
    }

    /** @return array<string, string> the fields of a section of INFO; none if INFO is refused */
    private function info(?string $address, string $section): array
    {
        preg_match_all('/^(\w+):(.*?)\r?$/m', (string) $this->optional($address, 'INFO', $section), $fields);
        return array_combine($fields[1], $fields[2]);
    }

    private function memory(?string $address): Finding
    {
        $info = $this->info($address, 'memory');
        if (!isset($info['maxmemory'], $info['maxmemory_policy'], $info['used_memory'])) {
            return Finding::warning('the memory is not known, because INFO is refused', NO_INFO);
        }
        [$most, $policy, $used] = [(int) $info['maxmemory'], $info['maxmemory_policy'], (int) $info['used_memory']];
        $found = $most === 0 ? "no maxmemory, policy $policy" : sprintf('%d of %d bytes used, policy %s', $used, $most, $policy);
        return match (true) {
            $most === 0 => Finding::ok($found),
            $policy !== 'noeviction' => Finding::warning($found, 'set maxmemory-policy noeviction, because an evicted bucket is full'),
            $used >= $most => Finding::failure($found, 'raise maxmemory, because the server refuses new records'),
            $used >= 0.9 * $most => Finding::warning($found, 'raise maxmemory'),
            default => Finding::ok($found),
        };
    }

    private function persistence(?string $address): Finding
    {
        $info = $this->info($address, 'persistence') + $this->info($address, 'replication');
        if (!isset($info['role'], $info['aof_enabled'])) {
            return Finding::warning('persistence and replicas are not known, because INFO is refused', NO_INFO);
        }
        $replicas = (int) ($info['connected_slaves'] ?? 0);
        $found = ($info['aof_enabled'] === '1' ? 'append-only file' : 'no append-only file') . ", $replicas replicas";
        return match (true) {
            $info['role'] !== 'master' => Finding::failure('the server is a replica, which refuses writes', 'name the primary, or use sentinels'),
            $info['aof_enabled'] !== '1' && $replicas === 0 => Finding::warning($found, 'after a restart all buckets may be full'),
            $replicas === 0 => Finding::ok("$found; a restart loses the writes of the last second"),
            default => Finding::ok("$found; a failover loses the writes that a replica does not have yet"),
        };
    }

    private function clients(?string $address): Finding
    {
        $info = $this->info($address, 'clients');
        $most = $info['maxclients'] ?? $this->optional($address, 'CONFIG', 'GET', 'maxclients')[1] ?? null;
        if ($most === null) {
            return Finding::warning('maxclients is not known, because INFO and CONFIG are refused', NO_INFO . ' or +config|get');
        }
        $used = isset($info['connected_clients']) ? (int) $info['connected_clients'] : null;
        return connections((int) $most, $used, $this->settings->pool, 'raise maxclients, or run fewer workers');
    }
}
