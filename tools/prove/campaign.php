<?php
/**
 * Runs stores under load and faults and judges their logs. Then does the same with limiters that
 * are wrong on purpose, the controls. The judge must convict each control: it must find that the
 * log breaks a rule.
 *
 * See scripts/prove and docs/explanation/proof.md.
 *
 *   php campaign.php STORE|TRIAL|all SECONDS SEED
 */
require __DIR__ . '/trial.inc.php';
require __DIR__ . '/../testkit/php/servers.php';
require __DIR__ . '/../testkit/php/sql_servers.php';
require __DIR__ . '/../testkit/php/proxy.php';
require __DIR__ . '/../testkit/php/clocks.php';
foreach (glob(__DIR__ . '/*controls.inc.php') as $file) {
    require_once $file;
}
foreach (glob(__DIR__ . '/subjects/*.inc.php') as $file) {
    require_once $file;
}

/**
 * The longest trial in seconds. Longer trials are split, so that logs stay small and more segments
 * and servers are tried.
 */
const ROUND = 30.0;
/** A control whose fault does not happen is tried again, up to this many times in all. */
const TRIES = 3;

/**
 * Returns the factories of the subjects, by store and variant.
 *
 * @return array<string, callable(): (Subject|string)> each returns a subject, or the reason why the
 *        subject is missing
 */
function subjects(): array
{
    $sql = fn (string $driver, string $server, array $credentials, array $statements = []) => match (true) {
        !class_exists('TokenBucketStoragePDO'), !class_exists($server) => 'TokenBucketStoragePDO is missing in this build',
        !extension_loaded("pdo_$driver") => "pdo_$driver is not loaded",
        default => new SqlSubject($server, $credentials, $statements),
    };
    return [
        'memory' => fn () => new SharedMemorySubject,
        'memory, full table' => fn () => new FullTableSubject,
        'memory, evicting table' => fn () => new EvictingTableSubject,
        'memory, deaths within' => fn () => new DyingSubject,
        'memory, changing limits' => fn () => new ChangingMemorySubject,
        'permits' => fn () => new PermitsSubject,
        'memory, permits, deaths within' => fn () => new DyingPermitsSubject,
        'permits, nginx' => fn () => exec('command -v nginx') === '' ? 'nginx is not installed' : new PermitsBehindNginxSubject,
        'permits, Redis' => fn () => new RedisPermitsSubject,
        'redis' => fn () => new RedisSubject,
        'redis, batches with memory' => fn () => new RedisAndMemorySubject,
        'redis, changing limits' => fn () => new ChangingRedisSubject,
        'redis, local fallback' => fn () => new RedisLocalSubject,
        'redis, clock ahead' => fn () => far(2),
        'redis, clock behind' => fn () => far(-2),
        'take-ahead' => fn () => new TakeAheadSubject,
        'take-ahead, storms' => fn () => new TakeAheadStormSubject,
        'take-ahead, clock stepped' => fn () => can_set_clocks() ? new TakeAheadClockSubject : 'libfaketime is not installed',
        'cluster' => fn () => new RedisClusterSubject,
        'cluster, one slot' => fn () => new RedisClusterTagSubject,
        'ring' => fn () => new RedisRingSubject,
        'sentinel' => fn () => new RedisSentinelSubject,
        'sentinel, failover' => fn () => new RedisSentinelFailoverSubject,
        'memcached' => fn () => new MemcachedSubject,
        'memcached, clocks' => fn () => can_set_clocks() ? new MemcachedClocksSubject : 'libfaketime is not installed',
        'mariadb' => fn () => $sql('mysql', 'MariaDbServer', ['root', '']),
        'postgresql' => fn () => $sql('pgsql', 'PostgreSqlServer', ['postgres', '']),
        'sqlite' => fn () => $sql('sqlite', 'SqliteFile', [null, null], ['PRAGMA synchronous = OFF']),
    ];
}

/** Returns a Redis whose clock is wrong, or the reason why it is missing. */
function far(int $minutes): Subject|string
{
    return can_set_clocks() ? new RedisClockSubject($minutes) : 'libfaketime is not installed';
}

/**
 * Returns the controls: all classes that are Scripted and not abstract.
 *
 * @return array<class-string<Scripted>, string> why the control is skipped, or an empty string
 */
function controls(): array
{
    $is_control = fn (string $class) => is_subclass_of($class, Scripted::class) && !(new ReflectionClass($class))->isAbstract();
    return [
        NumberedPermits::class => can_unshare() ? '' : 'unshare is not permitted',
        ClockAhead::class => can_set_clocks() ? '' : 'libfaketime is not installed',
    ] + array_fill_keys(array_filter(get_declared_classes(), $is_control), '');
}

/**
 * Runs a control, and prints the verdict.
 *
 * @return bool true if the fault of the control happened, and the judge has found it
 */
function convict(string $control): bool
{
    for ($try = 1; ; $try++) {
        try {
            [$told, $code, $faults] = History::of($control);
        } catch (Inconclusive $reason) {
            echo "control: $control: inconclusive: {$reason->getMessage()}\n";
            if ($try < TRIES) {
                continue;
            }
            return false;
        }
        $is_convicted = $code === 1 && str_contains($told, "\n  (" . $control::RULE . ') ');
        printf("control: %s: %s\n  %s\n", $control, counted($faults), $told);
        echo $is_convicted ? '  convicted by rule ' . $control::RULE . ", as expected\n" : '  NOT CONVICTED by rule ' . $control::RULE . "\n";
        return $is_convicted;
    }
}

/** @param array<string, int> $faults the number of each fault */
function counted(array $faults): string
{
    ksort($faults);
    return implode(', ', array_map(fn (string $fault, int $count) => "$fault $count", array_keys($faults), $faults));
}

/** Keeps a folder of logs if PROVE_KEEP asks for it. */
function keep(string $name, string $folder): void
{
    $kept = getenv('PROVE_KEEP');
    if ($kept !== false) {
        [$from, $to] = array_map(escapeshellarg(...), [$folder, "$kept/$name"]);
        exec("rm -rf $to; mkdir -p " . escapeshellarg($kept) . "; cp -r $from $to");
    }
}

/**
 * Runs the trial of one subject and prints the verdict.
 *
 * @return bool true if the rules hold
 */
function holds(string $name, Subject $subject, float $seconds, int $seed): bool
{
    $trial = new Trial($subject, $seconds, $seed);
    try {
        [$told, $code] = $trial->run();
    } catch (RuntimeException $error) {
        [$told, $code] = ['FAILED: ' . $error->getMessage(), 2];
    }
    $subject->stop();
    printf("%s, %g s, seed %d: %s\n  %s\n", $name, $seconds, $seed, counted($trial->counts), $told);
    keep($name, $trial->folder);
    $trial->remove();
    return $code === 0;
}

[, $store, $seconds, $seed] = $argv;
$failures = 0;
$chosen = array_filter(subjects(), fn ($name) => in_array($store, ['all', $name, ...explode(', ', $name)], true), ARRAY_FILTER_USE_KEY);
if ($chosen === [] && $store !== 'controls') {
    $names = array_unique(array_map(fn ($name) => explode(',', $name)[0], array_keys(subjects())));
    exit("Unknown store $store. Choose one of: " . implode(', ', $names) . ", controls, all\n");
}
foreach ($chosen as $name => $make) {
    $rounds = max(1, (int) ceil($seconds / ROUND));
    for ($round = 0; $round < $rounds; $round++) {
        $subject = $make();
        if (is_string($subject)) {
            echo "$name: skipped, $subject\n";
            break;
        }
        $failures += holds($name, $subject, $seconds / $rounds, $seed + $round) ? 0 : 1;
    }
}
foreach (controls() as $control => $missing) {
    if ($missing !== '') {
        echo "control: $control: skipped, $missing\n";
        continue;
    }
    $failures += convict($control) ? 0 : 1;
}
echo $failures === 0 ? "All verdicts are as expected.\n" : "$failures verdicts are not as expected.\n";
exit($failures === 0 ? 0 : 1);
