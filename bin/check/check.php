<?php
/**
 * Asks a store whether buckets on it can be exact: `tokenbucket check`.
 *
 * A store is a list of probes. Each probe returns a finding. The probes run in a child process,
 * because no timeout covers a look-up of a host name or a database that hangs.
 */
namespace TokenBucket\Command\Check;

use TokenBucket\Command\Failure;

use function TokenBucket\Command\number;
use function TokenBucket\Command\text;

require __DIR__ . '/memcached.php';
require __DIR__ . '/redis_servers.php';
require __DIR__ . '/redis.php';
require __DIR__ . '/sql.php';

enum Verdict: string
{
    case Ok = 'ok';
    case Warning = 'warning';
    case Failure = 'failure';
}

/** The result of a probe, and the advice for the operator. */
final class Finding
{
    private function __construct(public readonly Verdict $verdict, public readonly string $found, public readonly string $advice)
    {
    }

    public static function ok(string $found): self
    {
        return new self(Verdict::Ok, $found, '');
    }

    public static function warning(string $found, string $advice): self
    {
        return new self(Verdict::Warning, $found, $advice);
    }

    public static function failure(string $found, string $advice): self
    {
        return new self(Verdict::Failure, $found, $advice);
    }

    /** Returns the worst finding of a probe on several servers, with the names of the servers. */
    public static function each(array $servers, \Closure $probe): self
    {
        $findings = [];
        foreach ($servers as $server) {
            $finding = $probe($server);
            $found = count($servers) > 1 ? "$server: $finding->found" : $finding->found;
            $findings[] = new self($finding->verdict, $found, $finding->advice);
        }
        return self::worst(...$findings);
    }

    /** Returns the worst of several findings with the texts of all that are as bad. */
    private static function worst(self ...$findings): self
    {
        foreach ([Verdict::Failure, Verdict::Warning, Verdict::Ok] as $verdict) {
            $all = array_filter($findings, fn (self $finding) => $finding->verdict === $verdict);
            if ($all !== []) {
                return new self($verdict, implode('; ', array_column($all, 'found')), reset($all)->advice);
            }
        }
        return self::ok('nothing to examine');
    }
}

/** A store did not answer a probe. */
final class Unanswered extends \Exception
{
}

/** The settings of a check. */
final class Settings
{
    private readonly float $end;
    /** Begins the names of all records of this check. */
    public readonly string $name;

    public function __construct(
        public readonly string $prefix,
        public readonly string $table,
        /** The $timeout of the application's storage. */
        public readonly float $timeout,
        /** The connections that the application opens, if known. */
        public readonly ?int $pool,
        int $deadline,
    ) {
        $this->end = microtime(true) + $deadline;
        $this->name = 'check-' . bin2hex(random_bytes(8));
    }

    /** Returns the seconds to wait for one reply, which leave time for other servers. */
    public function patience(): float
    {
        return max(0.001, min(2.0, ($this->end - microtime(true)) / 2));
    }
}

interface Store
{
    /** @return array<string, \Closure(): Finding> the probes; without the first one, none makes sense */
    public function probes(): array;

    /** Deletes what the probes wrote. */
    public function clean(): void;
}

/** Compares round trips, in seconds, with the timeout of the application. */
function latency(array $seconds, float $timeout): Finding
{
    sort($seconds);
    [$median, $longest] = [$seconds[intdiv(count($seconds), 2)], end($seconds)];
    $found = sprintf('%d round trips, median %.2f ms, longest %.2f ms, timeout %g ms', count($seconds), 1e3 * $median, 1e3 * $longest, 1e3 * $timeout);
    return match (true) {
        $median >= $timeout => Finding::failure($found, 'raise $timeout of the storage, or use a server that is nearer'),
        $longest >= $timeout => Finding::warning($found, 'raise $timeout of the storage, because some calls fail'),
        default => Finding::ok($found),
    };
}

/** Calls a request until there are enough round trips or a part of the deadline is used up. */
function timed(\Closure $request, Settings $settings): array
{
    $end = microtime(true) + $settings->patience() / 2;
    for ($seconds = []; count($seconds) < 20 && ($seconds === [] || microtime(true) < $end);) {
        $start = hrtime(true);
        $request();
        $seconds[] = (hrtime(true) - $start) / 1e9;
    }
    return $seconds;
}

/**
 * Compares a server's clock with that of this host, which was read before and after it. $unit is
 * the precision of the server's clock in seconds.
 */
function clock(float $before, float $server, float $after, float $unit, string $advice): Finding
{
    $ahead = match (true) {
        $server + $unit < $before => $server + $unit - $before,
        $server > $after => $server - $after,
        default => 0.0,
    };
    return abs($ahead) > 1.0
        ? Finding::warning(sprintf('the server is %s this host by %.1f s', $ahead > 0 ? 'ahead of' : 'behind', abs($ahead)), $advice)
        : Finding::ok(sprintf('the clocks of the server and of this host agree within %.3f s', abs($ahead) + $after - $before + $unit));
}

/** Takes from a new bucket of two tokens. */
function decisions(\TokenBucketStorage $storage, string $name): Finding
{
    $bucket = new \TokenBucket($storage, $name, 2, 2 / 120);
    $granted = [$bucket->consume(), $bucket->consume(), $bucket->consume()];
    return $granted === [true, true, false]
        ? Finding::ok('a bucket of two tokens grants two')
        : Finding::failure('a bucket of two tokens decides ' . json_encode($granted), 'do not use this store');
}

/** Compares the connections that the server still accepts with those of the application. */
function connections(int $most, ?int $used, ?int $pool, string $advice): Finding
{
    $found = "at most $most connections" . ($used === null ? '' : ", $used now");
    return match (true) {
        $pool === null => Finding::ok("$found; --pool=N compares them with your workers"),
        $pool > $most => Finding::failure("$found, $pool needed", $advice),
        $pool + (int) $used > $most => Finding::warning("$found, $pool more needed", $advice),
        default => Finding::ok("$found, $pool needed"),
    };
}

/** Returns the address of the store to check. */
function dsn(#[\SensitiveParameter] ?string $argument): string
{
    $dsn = match ($argument) {
        '-' => rtrim((string) fgets(STDIN), "\r\n"),
        null => getenv('TOKENBUCKET_DSN') ?: getenv('TOKENBUCKET_REDIS') ?: '',
        default => $argument,
    };
    if ($dsn === '') {
        throw new Failure('no DSN: pass it as an argument, in TOKENBUCKET_DSN, or on standard input with "-"', 2);
    }
    return $dsn;
}

/** Returns the store at an address. No message quotes the address, which may contain a password. */
function store(#[\SensitiveParameter] string $dsn, Settings $settings): Store
{
    return match (strtolower(strtok($dsn, ':'))) {
        'redis', 'rediss', 'unix', 'redis+unix', 'redis+sentinel', 'rediss+sentinel', 'redis+cluster', 'rediss+cluster', 'redis+ring', 'rediss+ring' => new RedisStore($dsn, $settings),
        'memcached' => new MemcachedStore($dsn, $settings),
        'mysql', 'pgsql', 'sqlite' => new SqlStore($dsn, $settings),
        default => throw new Failure('the DSN must begin with redis:, rediss:, unix:, redis+sentinel:, redis+cluster:, redis+ring:, memcached:, mysql:, pgsql: or sqlite:', 2),
    };
}

function settings(array $options, int $deadline): Settings
{
    $prefix = $options['prefix'] ?? 'tokenbucket:';
    // Longer names are hashed. Then the check would not know the names of its records.
    if (preg_match('/^[!-~]{0,200}$/D', $prefix) !== 1) {
        throw new Failure('--prefix must be at most 200 printable characters of ASCII', 2);
    }
    $pool = isset($options['pool']) ? (int) number('--pool', $options['pool']) : null;
    return new Settings($prefix, $options['table'] ?? 'token_bucket', number('--timeout', $options['timeout'] ?? '0.05'), $pool, $deadline);
}

/** Runs the probes. Reports the name of each one before it begins, and then its finding. */
function examine(Store $store, \Closure $report): void
{
    $is_first = true;
    try {
        foreach ($store->probes() as $name => $probe) {
            $report(['begins' => $name]);
            try {
                $finding = $probe();
            } catch (\Throwable $error) {
                $finding = Finding::failure($error->getMessage(), 'see docs/reference/errors.md');
            }
            $report(['probe' => $name, 'verdict' => $finding->verdict->value, 'found' => $finding->found, 'advice' => $finding->advice]);
            if ($is_first && $finding->verdict === Verdict::Failure) {
                return;
            }
            $is_first = false;
        }
    } finally {
        $store->clean();
    }
}

/**
 * Yields the reports of the probes, which run in a child process. Its alarm ends it. Returns
 * whether it did.
 */
function examined(Store $store, int $deadline): \Generator
{
    [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
    $pid = pcntl_fork();
    if ($pid === 0) {
        fclose($mine);
        pcntl_alarm($deadline);
        examine($store, fn (array $report) => fwrite($its, serialize($report) . "\0\n"));
        exit;
    }
    fclose($its);
    stream_set_timeout($mine, $deadline + 60);
    while (($line = stream_get_line($mine, 1 << 20, "\0\n")) !== false) {
        yield unserialize($line, ['allowed_classes' => false]);
    }
    pcntl_waitpid($pid, $status);
    return pcntl_wifsignaled($status) && pcntl_wtermsig($status) === SIGALRM;
}

/** Prints a line for each probe. Returns the exit status. */
function check(#[\SensitiveParameter] ?string $argument, array $options): int
{
    if (!function_exists('pcntl_fork')) {
        throw new Failure('this PHP has no extension pcntl', 1);
    }
    $deadline = (int) ceil(number('--deadline', $options['deadline'] ?? '10'));
    $store = store(dsn($argument), settings($options, $deadline));
    $begun = array_key_first($store->probes());
    $findings = [];
    $add = function (array $finding) use (&$findings, $options): void {
        $findings[] = $finding = array_map(text(...), $finding);
        if (!isset($options['json'])) {
            printf("%-7s  %-11s  %s%s\n", $finding['verdict'], $finding['probe'], $finding['found'], $finding['advice'] === '' ? '' : " -> {$finding['advice']}");
        }
    };
    foreach ($reports = examined($store, $deadline) as $report) {
        $begun = $report['begins'] ?? null;
        isset($report['probe']) && $add($report);
    }
    if ($begun !== null) {
        $found = $reports->getReturn() ? "no result within $deadline s" : 'the command has ended early';
        $add(['probe' => $begun, 'verdict' => 'failure', 'found' => $found, 'advice' => 'look at the server and the network, or pass a longer --deadline']);
    }
    $failed = in_array('failure', array_column($findings, 'verdict'), true);
    if (isset($options['json'])) {
        echo json_encode(['passed' => !$failed, 'probes' => $findings], JSON_THROW_ON_ERROR), "\n";
    }
    return (int) $failed;
}
