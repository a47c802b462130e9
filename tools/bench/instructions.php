<?php
/**
 * Counts the instructions of calls under callgrind, and compares them with instructions.json.
 *
 *   php instructions.php          prints the counts, and writes instructions.json
 *   php instructions.php check    exits with 1 if a count has grown by more than 5 %, unless
 *                                       the versions differ. Writes nothing
 *
 * A count is the difference between a long and a short loop, divided by the difference of their
 * calls. So it includes PHP's work for a call. Other load on the machine does not change it. Lines
 * that begin with PASS, FAIL or "Tests skipped" are counted by scripts/test.
 */
require __DIR__ . '/measure.inc.php';
require_once __DIR__ . '/../testkit/php/servers.php';

const TABLE = __DIR__ . '/instructions.json';
/** The greatest allowed ratio of a count to the recorded count. */
const GROWTH = 1.05;
/** The turns of the two loops, each with 20 calls. */
const SHORT = 5;
const LONG = 25;
/** The calls of a row, including those of the first loop, which is not counted. */
const CALLS = (SHORT + SHORT + LONG) * 20;
/** So many tokens that a bucket is never empty here. */
const MUCH = 1_000_000_000;
/** The greatest age of a cached denial in seconds, so that it does not expire here. */
const DENIAL_CACHE_AGE = 600.0;
/**
 * Functions of Redis that are not counted: its timer, whose work depends on the time, and the
 * comparison of commands' names, whose work depends on the random seed of hashes.
 */
const UNSTABLE = ['serverCron', 'dictSdsKeyCaseCompare'];
/** The versions that a count depends on. */
const VERSIONS = ['architecture', 'php', 'rustc', 'redis-server', 'valgrind'];

/**
 * Returns words to put before a command, so that callgrind counts the command's instructions.
 *
 * @param string $mark a function of the program. When it is called, callgrind writes a file with
 *        the count since the last call
 * @param string $file the path of these files, which is followed by "." and a number from 1
 * @return list<string>
 */
function callgrind(string $mark, string $file): array
{
    return ['valgrind', '--quiet', '--vgdb=no', '--tool=callgrind', "--dump-before=$mark", "--callgrind-out-file=$file", '--compress-strings=no'];
}

/** A Redis whose instructions are counted between two calls of the command ECHO. */
final class CountedRedis extends RedisServer
{
    public function counts(): string
    {
        return "$this->folder/counts";
    }

    protected function arguments(int $port): array
    {
        // The server's timer is as slow as possible, because callgrind counts the timer's work,
        // too.
        return [...callgrind('echoCommand', $this->counts()), ...parent::arguments($port), '--hz', '1', '--dynamic-hz', 'no'];
    }
}

function redis_storage(string $dsn, bool $denialCache): TokenBucketStorageRedis
{
    return new TokenBucketStorageRedis($dsn, 'instructions:', PATIENCE, TokenBucket\OnFailure::Throw, $denialCache, DENIAL_CACHE_AGE);
}

function granting(TokenBucketStorage $storage, string $identifier = 'granting'): TokenBucket
{
    return new TokenBucket($storage, $identifier, MUCH, 1);
}

/** Returns a bucket that grants only its first call. */
function denying(TokenBucketStorage $storage): TokenBucket
{
    return new TokenBucket($storage, 'denying', 1, 1e-6);
}

/** @return array<string, array{string, array<string, mixed>}> the statements and their variables */
function statements_of_php(string $dsn): array
{
    $storage = new TokenBucketStorageSharedMemory;
    $bucket = ['bucket' => granting($storage)];
    [$a, $b, $c] = array_map(fn (string $identifier) => granting($storage, $identifier), ['user', 'team', 'all']);
    // A call sorts its buckets in an order that depends on a random secret of the segment. So every
    // order of the three buckets is measured, and the sum does not depend on the secret.
    $orders = [[$a, $b, $c], [$a, $c, $b], [$b, $a, $c], [$b, $c, $a], [$c, $a, $b], [$c, $b, $a]];
    return [
        'consume(1)' => ['$bucket->consume(1)', $bucket],
        'attempt(1)' => ['$bucket->attempt(1)', $bucket],
        'peek()' => ['$bucket->peek()', $bucket],
        'new storage, new bucket, attempt(1)' => ['(new TokenBucket(new TokenBucketStorageSharedMemory, "new", ' . MUCH . ', 1))->attempt(1)', []],
        'headers() of a decision, granted' => ['$decision->headers("api")', ['decision' => $bucket['bucket']->attempt()]],
        'attemptAll() of three buckets' => ['TokenBucket::attemptAll($orders[$at++ % 6])', ['orders' => $orders]],
        'acquire() and release() of a permit' => ['$limit->acquire()->release()', ['limit' => new TokenBucket\ConcurrencyLimit($storage, 'permits', 8)]],
        'consume(1) on Redis, denied by the denial cache' => ['$bucket->consume(1)', ['bucket' => denying(redis_storage($dsn, true))]],
    ];
}

/**
 * @param Closure $ask sends a command, and returns the given line of the reply
 * @return array<string, array{string, array<string, mixed>}> the statements and their variables
 */
function statements_of_server(string $dsn, Closure $ask): array
{
    $storage = redis_storage($dsn, false);
    $hash = substr($ask("SCRIPT LOAD 'return 1'", 2), -40);
    $nothing = "*4\r\n$7\r\nEVALSHA\r\n$40\r\n$hash\r\n$1\r\n1\r\n$4\r\nnone";
    return [
        'EVALSHA of our step, granted' => ['$bucket->consume()', ['bucket' => granting($storage)]],
        'EVALSHA of our step, denied' => ['$bucket->consume()', ['bucket' => denying($storage)]],
        'EVALSHA of `return 1`' => ['$ask($nothing)', ['ask' => $ask, 'nothing' => $nothing]],
    ];
}

/**
 * Executes each statement in a short and in a long loop, with a mark before, between and after the
 * loops.
 */
function loop(array $statements, Closure $mark): void
{
    foreach ($statements as $name => [$statement, $variables]) {
        [$short, $long] = array_map(fn (int $turns) => new Row($name, $statement, $variables, $turns), [SHORT, LONG]);
        // The first calls do more, for example connect.
        $short->sample();
        $mark();
        $short->sample();
        $mark();
        $long->sample();
        $mark();
    }
}

/** Returns the count in a file of callgrind, without the work of UNSTABLE functions. */
function total(string $file): int
{
    $counted = file_get_contents($file);
    must(preg_match('/^totals: (\d+)$/m', $counted, $total) === 1, 'callgrind has counted nothing');
    preg_match_all('/^cfn=(?:' . implode('|', UNSTABLE) . ')\ncalls=.*\n\S+ (\d+)$/m', $counted, $unstable);
    return (int) $total[1] - array_sum($unstable[1]);
}

/** @return array<string, int> the instructions of a call, by name */
function counts(array $names, string $file): array
{
    $counts = [];
    foreach ($names as $i => $name) {
        // A row writes three files. The first counts what came before its short loop. The second
        // counts the short loop, and the third counts the long one.
        [$short, $long] = [total("$file." . (3 * $i + 2)), total("$file." . (3 * $i + 3))];
        $counts[$name] = (int) round(($long - $short) / ((LONG - SHORT) * 20));
    }
    return $counts;
}

/** @return list<int> the calls granted by Redis, denied by Redis, and by the denial cache */
function decisions_on_redis(): array
{
    $redis = array_column(TokenBucket\status()['decisions'], null, 'store')['redis'];
    return [$redis['granted_by_store'], $redis['denied_by_store'], $redis['denied_by_denial_cache']];
}

/** Executes the statements of PHP. This runs under callgrind. */
function loop_in_php(string $dsn): void
{
    loop(statements_of_php($dsn), fn () => php_uname('m'));
    // Redis grants the first call and denies the second. The other calls get the cached denial.
    must(decisions_on_redis() === [1, 1, CALLS - 2], 'not every denial came from the denial cache');
}

/** Returns the path of the extension that this process uses. */
function module(): string
{
    preg_match('~ (/.*tokenbucket\.so)(?: \(deleted\))?$~m', file_get_contents('/proc/self/maps'), $path);
    return $path[1];
}

/** @return array<string, int> the instructions that PHP executes for each statement */
function counts_of_php(CountedRedis $server): array
{
    $file = "$server->folder/php";
    $dsn = "unix://$server->socket";
    $php = [PHP_BINARY, '-n', '-d', 'extension=' . module(), __FILE__, 'loop', $dsn];
    // The environment is small, because its size moves the stack, whose alignment changes some
    // counts.
    $process = proc_open([...callgrind('php_get_uname', $file), ...$php], [], $pipes, null, ['PATH' => getenv('PATH')]);
    must(proc_close($process) === 0, 'the loops failed');
    return counts(array_keys(statements_of_php($dsn)), $file);
}

/** @return array<string, int> the instructions of the server */
function counts_of_server(CountedRedis $server): array
{
    $stream = stream_socket_client("unix://$server->socket");
    $ask = function (string $command, int $lines = 1) use ($stream): string {
        fwrite($stream, "$command\r\n");
        while ($lines-- > 0) {
            $line = rtrim((string) fgets($stream));
        }
        must($line !== '' && $line[0] !== '-', "the server replies to a command: $line");
        return $line;
    };
    $statements = statements_of_server("unix://$server->socket", $ask);
    loop($statements, fn () => $ask('ECHO mark', 2));
    must(decisions_on_redis() === [CALLS, CALLS, 0], 'the server has not granted and denied every call');
    return counts(array_keys($statements), $server->counts());
}

/** @return array<string, int> the instructions of all rows */
function counts_of_all(): array
{
    $server = CountedRedis::start();
    // counts_of_php() comes first, because it empties the bucket whose denials are counted in the
    // server.
    return counts_of_php($server) + counts_of_server($server);
}

/** Returns why nothing can be counted here, or null. */
function obstacle(): ?string
{
    foreach (['valgrind', 'redis-server', 'readelf'] as $program) {
        if (exec("command -v $program") === '') {
            return "$program is missing";
        }
    }
    // Only scripts/build, which builds the release profile, adds this section.
    exec('readelf --wide --sections ' . escapeshellarg(module()), $sections);
    return preg_grep('/ \.gnu_debuglink /', $sections) === [] ? module() . ' is not a build of scripts/build' : null;
}

/** @return list<string> the names of rows that have grown too much, or that only one table has */
function grown(array $counts, array $recorded): array
{
    $too_much = fn (string $name): bool => ($counts[$name] ?? INF) > GROWTH * ($recorded[$name] ?? 0);
    return array_values(array_filter(array_keys($counts + $recorded), $too_much));
}

/** Tests the function grown() with tables that have one row 6 % lower, or lack it. */
function control(array $counts): void
{
    must(grown($counts, $counts) === [], 'the comparison reports equal tables');
    foreach ($counts as $name => $count) {
        $without = array_diff_key($counts, [$name => $count]);
        must(grown($counts, [$name => 0.94 * $count] + $counts) === [$name], "the comparison misses a growth: $name");
        must(grown($counts, $without) === [$name] && grown($without, $counts) === [$name], "the comparison misses the lack of a row: $name");
    }
    echo "PASS the comparison reports a row that is 6 % lower in the table\n";
}

/** Prints the counts beside those of instructions.json. Returns whether none has grown too much. */
function compare(array $counts, array $recorded, bool $only_print): bool
{
    $grown = grown($counts, $recorded);
    foreach ($counts + $recorded as $name => $count) {
        $verdict = match (true) {
            $only_print => '',
            in_array($name, $grown, true) => 'FAIL ',
            default => 'PASS ',
        };
        [$now, $before] = [$counts[$name] ?? NAN, $recorded[$name] ?? NAN];
        printf("%s%-48s %7.0f, in the table %7.0f, %+.1f %%\n", $verdict, $name, $now, $before, 100 * $now / $before - 100);
    }
    return $only_print || $grown === [];
}

/** Counts, and compares with instructions.json. Returns the status to exit with. */
function compared(): int
{
    $table = json_decode(file_get_contents(TABLE), true, flags: JSON_THROW_ON_ERROR);
    $recorded = array_column($table['rows'], 'instructions', 'name');
    control($recorded);
    $obstacle = obstacle();
    if ($obstacle !== null) {
        echo "Tests skipped : 1, because $obstacle\n";
        return 0;
    }
    $versions = Record::versions();
    $others = array_filter(VERSIONS, fn (string $name) => $versions[$name] !== $table['versions'][$name]);
    foreach ($others as $name) {
        echo "The counts are only printed, because $name is $versions[$name] instead of {$table['versions'][$name]}\n";
    }
    if (compare(counts_of_all(), $recorded, $others !== [])) {
        return 0;
    }
    echo "To accept the growth, run scripts/bench instructions and commit its table.\n";
    return 1;
}

/** Counts, prints, and writes instructions.json. */
function record(): void
{
    must(obstacle() === null, (string) obstacle());
    Record::save('scripts/bench instructions', TABLE, function () {
        foreach (counts_of_all() as $name => $count) {
            printf("%-48s %7d\n", $name, $count);
            Record::row($name, ['instructions' => $count]);
        }
    });
}

switch ($argv[1] ?? 'record') {
    case 'loop':
        loop_in_php($argv[2]);
        break;
    case 'check':
        exit(compared());
    default:
        record();
}
