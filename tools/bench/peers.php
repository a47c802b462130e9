<?php
/**
 * Compares our decisions with those of other limiters in the same store. Measures the time of a
 * granted and of a denied call, and the round trips.
 *
 * The rows of a store are sampled alternately. Nothing is subtracted from these samples. On Redis,
 * round trips are the server's count of reads from clients (total_reads_processed). On other
 * servers, a proxy counts the round trips of calls that are not timed.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/limiters.inc.php';
require_once __DIR__ . '/../testkit/php/proxy.php';

const ROUNDS = 10;
/**
 * The samples of a row in a round. Each sample is about 20 calls, which take less time than a
 * scheduler's time slice.
 */
const SAMPLES = 20;
/**
 * The quantile that replaces the samples of a round. It is low because other load only adds time.
 */
const LEAST = 0.1;
/** The turns of the loop for statements that take microseconds or less. */
const MANY_TURNS = 20;
/** The number of decisions whose round trips are counted. */
const COUNTED = 200;

/** A limiter with a bucket that grants and a bucket that denies, and the measured figures. */
final class Candidate
{
    public readonly Row $granted;
    public readonly Row $denied;
    private readonly Closure $grants;
    private readonly Closure $denies;

    public function __construct(public readonly Limiter $limiter, int $turns)
    {
        $granting = $limiter->make(fresh('granting'), MUCH, 1);
        $denying = $limiter->exhausted();
        $this->grants = $limiter->asking($granting);
        $this->denies = fn () => !$limiter->asking($denying)();
        $this->check();
        $this->granted = new Row("$limiter->name, granted", $limiter->take, ['limiter' => $granting], $turns);
        $this->denied = new Row("$limiter->name, denied", $limiter->take, ['limiter' => $denying], $turns);
    }

    /**
     * Checks that one bucket grants and the other denies. Runs before and after the measurement.
     */
    public function check(): void
    {
        must(($this->grants)(), "{$this->limiter->name}, granted: denies");
        must(($this->denies)(), "{$this->limiter->name}, denied: grants");
    }

    /**
     * @param Closure(): int $counter returns the number of all round trips
     * @return array<string, float> the round trips of a granted and of a denied decision
     */
    public function round_trips(Closure $counter): array
    {
        return ['granted' => self::count($this->grants, $counter), 'denied' => self::count($this->denies, $counter)];
    }

    private static function count(Closure $ask, Closure $counter): float
    {
        $ask();
        // The counter makes round trips itself, which are subtracted.
        $counting = -$counter() + $counter();
        $before = $counter();
        for ($i = 0; $i < COUNTED; $i++) {
            $ask();
        }
        return ($counter() - $before - $counting) / COUNTED;
    }
}

/** @param list<Candidate> $candidates ours first */
function report_costs(string $home, array $candidates): void
{
    title($home);
    $ours = $candidates[0];
    foreach ($candidates as $candidate) {
        report($candidate->granted, $candidate === $ours ? null : $ours->granted);
        report($candidate->denied, $candidate === $ours ? null : $ours->denied);
    }
}

/** @param array<string, array<string, float>> $trips by limiter, and by granted and denied */
function report_round_trips(string $home, array $trips): void
{
    Record::title("$home, round trips");
    printf("\n%-44s %8s %8s\n", "$home, round trips", 'granted', 'denied');
    foreach ($trips as $name => $of) {
        printf("%-44s %8.2f %8.2f\n", $name, $of['granted'], $of['denied']);
        Record::row($name, ['round_trips' => $of]);
    }
}

/**
 * @param list<Limiter> $limiters ours first
 * @param ?list<Limiter> $counted the same limiters, on connections whose round trips are counted
 * @param ?Closure(): int $counter returns the number of round trips so far
 */
function compare(string $home, array $limiters, ?array $counted, ?Closure $counter): void
{
    $candidates = array_map(fn (Limiter $limiter) => new Candidate($limiter, $counter === null ? MANY_TURNS : 1), $limiters);
    $rows = array_merge(...array_map(fn (Candidate $candidate) => [$candidate->granted, $candidate->denied], $candidates));
    sample_shuffled($rows, ROUNDS, SAMPLES, LEAST);
    report_costs($home, $candidates);
    if ($counter !== null) {
        $trips = [];
        foreach ($counted as $limiter) {
            $trips[$limiter->name] = (new Candidate($limiter, 1))->round_trips($counter);
        }
        report_round_trips($home, $trips);
    }
    array_map(fn (Candidate $candidate) => $candidate->check(), $candidates);
}

printf("PHP %s with opcache %s, tokenbucket %s\n", PHP_VERSION, ini_get('opcache.enable_cli') ? 'on' : 'off', phpversion('tokenbucket'));
printf("%d rounds; a round's figure is the 10th percentile of %d samples; client and servers on processor %s\n", ROUNDS, SAMPLES, processors());

compare("One host's memory", limiters_of_a_host(), null, null);

$redis = RedisServer::start();
$on_redis = limiters_on_redis($redis);
compare('Redis, Unix socket', $on_redis, $on_redis, function () use ($redis): int {
    preg_match('/^total_reads_processed:(\d+)/m', $redis->command('INFO', 'stats'), $found);
    return (int) $found[1];
});
$redis->kill();

$memcached = MemcachedServer::startTcp();
$proxy = new Proxy("tcp://127.0.0.1:$memcached->port");
compare('memcached, TCP', limiters_on_memcached($memcached->port), limiters_on_memcached($proxy->port), $proxy->roundTrips(...));
$memcached->kill();

$mariadb = mariadb_with_table();
$proxy = new Proxy("unix://$mariadb->socket");
// Uses native prepares, as the published userland class does.
$native = [PDO::ATTR_EMULATE_PREPARES => false];
$connect = fn () => $mariadb->connect($native);
$connect_to_proxy = fn () => new PDO(str_replace("unix_socket=$mariadb->socket", "host=127.0.0.1;port=$proxy->port", $mariadb->dsn()), 'root', '', $native);
compare('MariaDB, Unix socket', limiters_in_a_table($connect), limiters_in_a_table($connect_to_proxy), $proxy->roundTrips(...));
$mariadb->kill();
