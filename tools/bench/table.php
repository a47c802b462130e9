<?php
/**
 * Writes the tables of docs/explanation/benchmarks.md from results.json, kills.json and
 * instructions.json.
 *
 *   php table.php           prints them
 *   php table.php FILE      writes them into FILE, between its two markers
 *
 * Exits with 1 if a required figure is missing.
 */

require __DIR__ . '/figures.inc.php';

const BEGIN = "<!-- begin of tools/bench/table.php -->\n";
const END = "<!-- end of tools/bench/table.php -->\n";

/** Returns a count per second with three digits. */
function rate(float $a_second): string
{
    return match (true) {
        $a_second >= 1e6 => sprintf('%.1f M', $a_second / 1e6),
        $a_second >= 1e5 => number_format(round($a_second, -3)),
        default => number_format(round($a_second, -2)),
    };
}

/** Returns a ratio with three digits. */
function times(float $ratio): string
{
    return match (true) {
        $ratio >= 100 => number_format($ratio),
        $ratio >= 10 => sprintf('%.1f', $ratio),
        $ratio >= 1 => sprintf('%.2f', $ratio),
        default => sprintf('%.3f', $ratio),
    };
}

/** Prints a line of the table. */
function line(string $what, string $micros = '', string $a_second = '', string $trips = '', string $beside = '', string $ratio = '', string $verdict = ''): void
{
    echo '| ', implode(' | ', func_get_args() + array_fill(0, 7, '')), " |\n";
}

function lines_of_limiters(array $rows): void
{
    foreach (["One host's memory", 'Redis, Unix socket', 'memcached, TCP', 'MariaDB, Unix socket'] as $home) {
        line("**$home: granted / denied**");
        foreach (limiters_of($rows, $home) as $name) {
            line_of_limiter($rows, $home, $name);
        }
    }
}

function line_of_limiter(array $rows, string $home, string $name): void
{
    [$granted, $denied] = array_map(fn (string $what) => row($rows, 'peers', $home, "$name, $what"), ['granted', 'denied']);
    $race = row($rows, 'race', null, $name);
    $trips = $home === "One host's memory"
        ? '–'
        : implode(' / ', array_map(fn (float $trips) => (string) round($trips, 1), row($rows, 'peers', "$home, round trips", $name)['round_trips']));
    $verdict = range_of($race['granted']) . (max($race['granted']) > $race['of'] ? ' **too many**' : '');
    foreach (['early' => 'falsely denied', 'failed' => 'failed'] as $key => $words) {
        $verdict .= max($race[$key]) > 0 ? ', ' . range_of($race[$key]) . " $words" : '';
    }
    line(
        $name,
        micros($granted['ns'][0]) . ' / ' . micros($denied['ns'][0]),
        rate(1e9 / $granted['ns'][0]),
        $trips,
        isset($granted['beside']) ? 'TokenBucket' : '',
        isset($granted['beside']) ? times($granted['ratio'][0]) . ' / ' . times($denied['ratio'][0]) : '',
        $verdict
    );
}

/** Prints every comparison in which we are slower. */
function losses(array $rows): void
{
    echo "\n**Where we are slower** in this run:\n\n";
    foreach (array_filter($rows, fn (array $row) => $row['program'] === 'peers' && isset($row['ratio']) && $row['ratio'][0] < 1) as $row) {
        printf("- %s: %s: %s × TokenBucket\n", $row['title'], $row['name'], times($row['ratio'][0]));
    }
    foreach (array_filter($rows, fn (array $row) => $row['program'] === 'race' && str_starts_with($row['name'], 'TokenBucket')) as $row) {
        if (min($row['granted']) !== $row['of'] || max($row['granted']) !== $row['of'] || max($row['early']) + max($row['failed']) > 0) {
            printf("- %s: %s granted %s of %d, %s falsely denied\n", $row['title'], $row['name'], range_of($row['granted']), $row['of'], range_of($row['early']));
        }
    }
}

/** Prints the date, the commit and the machine of a run. */
function circumstances(array $run, string $what): void
{
    echo wordwrap(sprintf(
        "`%s` on %s, commit %s%s: %d × %s%s, %s, PHP %s, load %.1f at the start. %s",
        $run['command'],
        substr($run['date'], 0, 10),
        substr($run['commit'], 0, 10),
        $run['clean'] ? '' : ' and changes',
        $run['machine']['processors'],
        $run['machine']['processor'],
        $run['machine']['hypervisor'] ? ' (virtual)' : '',
        $run['machine']['kernel'],
        $run['versions']['php'],
        $run['machine']['load'],
        $what
    ), 100), "\n\n";
}

/** Prints the table of tokens granted while workers were killed. */
function table_of_kills(array $run): void
{
    echo "## While workers are killed\n\n";
    $row = $run['rows'][0];
    circumstances($run, sprintf(
        '%d workers share a bucket of %s tokens, %d more every second; in ten seconds, %d workers were killed.',
        $row['workers'],
        number_format($row['capacity']),
        $row['rate'],
        $row['kills']
    ));
    echo "| limiter | granted | limit at the end | answers | calls that threw | last answer after |\n|---|---|---|---|---|---|\n";
    foreach ($run['rows'] as $row) {
        [$granted, $seconds, $answers] = [$row['granted'], $row['seconds'], $row['answers']];
        $limit = $row['capacity'] + $row['rate'] * end($seconds);
        $last = $seconds[array_search(end($answers), $answers, true)];
        printf(
            "| %s | %s | %s | %s | %d | %.1f s%s |\n",
            $row['name'],
            number_format(end($granted)) . (end($granted) > $limit ? ' **too many**' : ''),
            number_format($limit),
            number_format(end($answers)),
            $row['failed'],
            $last,
            $last < 0.9 * end($seconds) ? ' **stuck**' : ''
        );
    }
}

/** Prints the table of instructions for each call. */
function table_of_instructions(array $run): void
{
    echo "## Instructions of a call\n\n";
    $versions = $run['versions'];
    echo wordwrap(sprintf(
        '`%s` on %s: %s, PHP %s, %s, Redis %s, valgrind %s.',
        $run['command'],
        substr($run['date'], 0, 10),
        $versions['architecture'],
        $versions['php'],
        $versions['rustc'],
        $versions['redis-server'],
        $versions['valgrind']
    ), 100), "\n\n| call | instructions |\n|---|---|\n";
    foreach ($run['rows'] as $row) {
        printf("| %s | %s |\n", $row['name'], number_format($row['instructions']));
    }
}

/** Prints the table of a run of scripts/bench, and the comparisons in which we are slower. */
function table_of_results(array $run): void
{
    echo "## The table\n\n";
    circumstances($run, 'Medians. µs: of one call of one process. Granted: by 8 processes of 1,000 tokens, in three races.');
    line('', 'µs', 'per second', 'round trips', 'compared with', '×', 'granted of 1,000');
    echo '|---|---|---|---|---|---|---|', "\n";
    lines_of_limiters($run['rows']);
    losses($run['rows']);
}

/** Replaces the text between the markers of a page. */
function write_into(string $file, string $tables): void
{
    $page = file_get_contents($file);
    $begin = strpos($page, BEGIN);
    $end = strpos($page, END);
    if ($begin === false || $end === false || $end < $begin) {
        throw new RuntimeException("$file does not have the markers");
    }
    file_put_contents($file, substr($page, 0, $begin + strlen(BEGIN)) . "\n$tables\n" . substr($page, $end));
}

try {
    $read = fn (string $file) => json_decode(file_get_contents(__DIR__ . "/$file"), true, 512, JSON_THROW_ON_ERROR);
    ob_start();
    table_of_kills($read('kills.json'));
    echo "\n";
    table_of_instructions($read('instructions.json'));
    echo "\n";
    table_of_results($read('results.json'));
    $tables = ob_get_clean();
    if (isset($argv[1])) {
        write_into($argv[1], $tables);
    } else {
        echo $tables;
    }
} catch (RuntimeException $e) {
    fwrite(STDERR, "The run is invalid: {$e->getMessage()}\n");
    exit(1);
}
