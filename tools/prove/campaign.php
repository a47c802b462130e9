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
foreach (glob(__DIR__ . '/subjects/*.inc.php') as $file) {
    require_once $file;
}

/**
 * The longest trial in seconds. Longer trials are split, so that logs stay small and more segments
 * and servers are tried.
 */
const ROUND = 30.0;
/** The seconds for each control. */
const CONTROL = 8.0;
/** The seconds for controls that break a rule all the time. */
const SHORT_CONTROL = 2.5;

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
        'permits' => fn () => new PermitsSubject,
        'permits, deaths within' => fn () => new DyingPermitsSubject,
        'permits, nginx' => fn () => exec('command -v nginx') === '' ? 'nginx is not installed' : new PermitsBehindNginxSubject,
        'permits, Redis' => fn () => new RedisPermitsSubject,
        'redis' => fn () => new RedisSubject,
        'redis, local fallback' => fn () => new RedisLocalSubject,
        'cluster' => fn () => new RedisClusterSubject,
        'cluster, one slot' => fn () => new RedisClusterTagSubject,
        'sentinel' => fn () => new RedisSentinelSubject,
        'sentinel, failover' => fn () => new RedisSentinelFailoverSubject,
        'memcached' => fn () => new MemcachedSubject,
        'memcached, clocks' => fn () => clocks(),
        'mariadb' => fn () => $sql('mysql', 'MariaDbServer', ['root', '']),
        'postgresql' => fn () => $sql('pgsql', 'PostgreSqlServer', ['postgres', '']),
        'sqlite' => fn () => $sql('sqlite', 'SqliteFile', [null, null], ['PRAGMA synchronous = OFF']),
    ];
}

/** Returns hosts whose clocks are set to random times, or the reason why they are missing. */
function clocks(int ...$error): Subject|string
{
    return can_set_clocks() ? new MemcachedClocksSubject(...$error) : 'libfaketime is not installed';
}

/**
 * Returns the controls: for each, the rule that its log must break, and the factory of its subject.
 * Most names are classes of the files of controls.
 *
 * @return array<string, array{int|string, callable(string): (Subject|string), 2?: float}> by name
 */
function controls(): array
{
    $limiter = fn (string $class) => new ControlSubject($class);
    $caller = fn (string $class) => new WrongCallerSubject($class);
    $permits = fn (string $class) => new PermitControlSubject($class);
    $limit = fn (string $class) => new LimitControlSubject($class);
    return [
        'CheckThenIncrement' => [1, $limiter],
        'FetchDecideSave' => [1, $limiter],
        'BlindRetry' => [2, fn () => new BlindRetrySubject],
        'BlindRetry on a cluster' => [2, fn () => new BlindRetryClusterSubject],
        'ForgottenDebt' => [1, $caller],
        'WholeCancel' => [1, $caller],
        'ForgottenCharge' => [1, $caller],
        'LateGiveBack' => [1, $caller],
        'CheckedFloor' => [5, $caller, SHORT_CONTROL],
        'FirstHitWindow' => ['quotas 2', $limit, 3.0],
        'RenewedWindow' => ['quotas 2', $limit, 3.0],
        'NextWindowGiveBack' => ['quotas 1', $caller, 4.0],
        'CheckThenCount' => ['lockouts 1', $limit, SHORT_CONTROL],
        'RenewedBlock' => ['lockouts 3', $limit, SHORT_CONTROL],
        'CountedPermits' => [3, $permits],
        'LeasedPermits' => [1, $permits],
        'UncheckedPermits' => [1, $permits],
        'NumberedPermits' => [1, fn (string $class) => can_unshare() ? new PermitControlApartSubject($class) : 'unshare is not permitted'],
        'OnceReadPermits' => [2, $permits],
        // These clocks differ by more than is allowed. If libfaketime did not change the clocks, no
        // rule would be broken.
        'clocks wrong by up to 500 ms' => [1, fn () => clocks(500_000)],
    ];
}

/**
 * Runs the trial of one subject and prints the verdict.
 *
 * @return array{string, int} the judge's output and exit code. The code is 2 if the trial failed
 */
function attempt(string $name, Subject $subject, float $seconds, int $seed): array
{
    $trial = new Trial($subject, $seconds, $seed);
    try {
        [$told, $code] = $trial->run();
    } catch (RuntimeException $error) {
        [$told, $code] = ['FAILED: ' . $error->getMessage(), 2];
    }
    $subject->stop();
    ksort($trial->counts);
    $counts = array_map(fn (string $fault, int $count) => "$fault $count", array_keys($trial->counts), $trial->counts);
    printf("%s, %g s, seed %d: %s\n  %s\n", $name, $seconds, $seed, implode(', ', $counts), $told);
    $kept = getenv('PROVE_KEEP');
    if ($kept !== false) {
        exec('rm -rf ' . escapeshellarg("$kept/$name") . '; mkdir -p ' . escapeshellarg($kept)
            . '; cp -r ' . escapeshellarg($trial->folder) . ' ' . escapeshellarg("$kept/$name"));
    }
    $trial->remove();
    return [$told, $code];
}

[, $store, $seconds, $seed] = $argv;
$failures = 0;
$chosen = array_filter(subjects(), fn ($name) => in_array($store, ['all', $name, explode(',', $name)[0]], true), ARRAY_FILTER_USE_KEY);
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
        [, $code] = attempt($name, $subject, $seconds / $rounds, $seed + $round);
        $failures += $code === 0 ? 0 : 1;
    }
}
foreach (controls() as $control => $entry) {
    [$rule, $make, $seconds] = [...$entry, CONTROL];
    $subject = $make($control);
    if (is_string($subject)) {
        echo "control: $control: skipped, $subject\n";
        continue;
    }
    [$told, $code] = attempt("control: $control", $subject, $seconds, (int) $seed);
    $is_convicted = $code === 1 && str_contains($told, "\n  ($rule) ");
    echo $is_convicted ? "  convicted by rule $rule, as expected\n" : "  NOT CONVICTED by rule $rule\n";
    $failures += $is_convicted ? 0 : 1;
}
echo $failures === 0 ? "All verdicts are as expected.\n" : "$failures verdicts are not as expected.\n";
exit($failures === 0 ? 0 : 1);
