<?php
/**
 * Defines the controls of concurrency limits: limiters on Redis that are wrong on purpose, as some
 * applications use them. The judge must find that the log of each of them breaks a rule.
 */
require_once __DIR__ . '/controls.inc.php';

/**
 * The base of these controls. Most keep each permit in a Redis key of its own, which is called a
 * cell.
 */
abstract class PermitControl implements Scripted
{
    public const ALLOWANCES = '';

    protected readonly Wire $wire;

    /** @param int $first the cell that is tried first */
    final public function __construct(RedisServer $server, private readonly int $first = 0)
    {
        $this->wire = new Wire("unix://$server->socket");
    }

    /** @return array{int, ?object} the result as a constant of CallLog, and the permit */
    public function acquire(int $key, int $limit, float $timeout): array
    {
        $cell = $this->take($key, $limit);
        return $cell === null ? [CallLog::DENIED, null] : [CallLog::DONE, $cell];
    }

    /** Takes a permit. Returns null if all permits are held. */
    abstract protected function take(int $key, int $limit): ?object;

    abstract public function release(object $permit): void;

    /** Sets a cell. Returns false if the cell is not free. */
    protected function set(string $cell, string $value, int $milliseconds = 600_000): bool
    {
        return $this->wire->ask("SET $cell $value NX PX $milliseconds") === '+OK';
    }

    /** @return list<string> the names of the cells of a limit, in the order of their use */
    protected function cells(int $key, int $limit): array
    {
        return array_map(fn (int $i) => "cell:$key:" . ($this->first + $i) % $limit, range(0, $limit - 1));
    }

    /** Makes the calls on a key with a limit. */
    abstract protected static function calls(History $history, RedisServer $server): void;

    public static function run(History $history): void
    {
        static::calls($history, RedisServer::start());
    }
}

/** A counter, which keeps the permits of the dead. */
final class CountedPermits extends PermitControl
{
    public const RULE = '3';

    protected function take(int $key, int $limit): ?object
    {
        if ((int) substr($this->wire->ask("INCR held:$key"), 1) <= $limit) {
            return (object) ['key' => $key, 'is_held' => true];
        }
        $this->wire->ask("DECR held:$key");
        return null;
    }

    public function release(object $permit): void
    {
        if ($permit->is_held) {
            $permit->is_held = false;
            $this->wire->ask("DECR held:$permit->key");
        }
    }

    protected static function calls(History $history, RedisServer $server): void
    {
        $history->key(1, 1);
        $history->forked('holder killed', fn (CallLog $log) => (new PermitCaller(new self($server), $log))->acquire(1)[0] !== null);
        $history->permit_caller(new self($server))->acquire(1);
    }
}

/** Permits with a time to live that is shorter than some of the work. */
final class LeasedPermits extends PermitControl
{
    protected function take(int $key, int $limit): ?object
    {
        $token = bin2hex(random_bytes(8));
        foreach ($this->cells($key, $limit) as $cell) {
            if ($this->set($cell, $token, 3)) {
                return (object) ['cell' => $cell, 'token' => $token];
            }
        }
        return null;
    }

    public function release(object $permit): void
    {
        $this->wire->ask("EVAL \"if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1\" 1 $permit->cell $permit->token");
    }

    protected static function calls(History $history, RedisServer $server): void
    {
        $history->key(1, 1);
        [$holder, $other] = [$history->permit_caller(new self($server)), $history->permit_caller(new self($server))];
        [$permit, $sequence] = $holder->acquire(1);
        do {
            [$second, $taken] = $other->acquire(1);
        } while ($second === null);
        $history->happened('permit expired in use');
        $other->release(1, $second, $taken);
        $holder->release(1, $permit, $sequence);
    }
}

/**
 * Permits that belong to a process id. In another process namespace, that id belongs to another
 * process or to none.
 */
final class NumberedPermits extends PermitControl
{
    protected function take(int $key, int $limit): ?object
    {
        foreach ($this->cells($key, $limit) as $cell) {
            $permit = (object) ['cell' => $cell, 'value' => getmypid() . ':' . bin2hex(random_bytes(8))];
            $value = $this->wire->ask("GET $cell");
            if ($value === null) {
                if ($this->set($cell, $permit->value)) {
                    return $permit;
                }
            } elseif ((int) $value !== getmypid() && !posix_kill((int) $value, 0) && $this->replace($cell, $value, $permit->value)) {
                return $permit;
            }
        }
        return null;
    }

    public function release(object $permit): void
    {
        $this->replace($permit->cell, $permit->value, '');
    }

    /** If the cell still has the old value, sets the new one. An empty new value frees the cell. */
    private function replace(string $cell, string $old, string $new): bool
    {
        $change = $new === '' ? "redis.call('DEL', KEYS[1])" : "redis.call('SET', KEYS[1], ARGV[2])";
        $script = "if redis.call('GET', KEYS[1]) == ARGV[1] then $change return 1 end return 0";
        return $this->wire->ask("EVAL \"$script\" 1 $cell $old \"$new\"") === ':1';
    }

    protected static function calls(History $history, RedisServer $server): void
    {
        $history->key(1, 1);
        $holder = $history->permit_caller(new self($server));
        [$permit, $sequence] = $holder->acquire(1);
        $history->forked('permit taken in another namespace', function (CallLog $log) use ($server) {
            $other = new PermitCaller(new self($server), $log);
            [$second, $taken] = $other->acquire(1);
            $second === null || $other->release(1, $second, $taken);
            return $second !== null;
        }, apart: true);
        $holder->release(1, $permit, $sequence);
    }
}

/** Permits whose cells are read only once before a denial. */
final class OnceReadPermits extends PermitControl
{
    public const RULE = '2';

    protected function take(int $key, int $limit): ?object
    {
        foreach ($this->cells($key, $limit) as $cell) {
            if ($this->wire->ask("GET $cell") === null && $this->set($cell, 'held')) {
                return (object) ['cell' => $cell, 'is_held' => true];
            }
            History::gap();
        }
        return null;
    }

    public function release(object $permit): void
    {
        if ($permit->is_held) {
            $permit->is_held = false;
            $this->wire->ask("DEL $permit->cell");
        }
    }

    protected static function calls(History $history, RedisServer $server): void
    {
        $history->key(1, 2);
        $holders = array_map(fn (int $first) => $history->permit_caller(new self($server, $first)), [0, 1]);
        $reader = $history->permit_caller(new self($server));
        [$permit, $sequence] = $holders[0]->acquire(1, 2);
        [$read] = $history->meanwhile(fn () => $reader->acquire(1, 2), function () use ($holders, &$permit, $sequence) {
            $holders[0]->release(1, $permit, $sequence);
            $holders[1]->acquire(1, 2);
        });
        $history->happened('cells read at different times', $read === null);
    }
}
