<?php
/**
 * Replays access logs through limits of the guard, or proposes limits: `tokenbucket advise`.
 *
 * The extension reads the lines and decides (TokenBucket\LogReplay). This command opens the logs,
 * adds the decisions up and prints the report.
 */
namespace TokenBucket\Command\Advise;

use TokenBucket\Command\Failure;
use TokenBucket\LogReplay;

use function TokenBucket\Command\text;

require __DIR__ . '/formats.php';
require __DIR__ . '/logs.php';
require __DIR__ . '/denials.php';
require __DIR__ . '/proposal.php';
require __DIR__ . '/page.php';

/** The endings of files that web servers usually send without PHP. */
const ASSETS = ['.css', '.js', '.mjs', '.map', '.png', '.jpg', '.jpeg', '.gif', '.webp', '.avif', '.svg', '.ico', '.woff', '.woff2', '.ttf', '.eot', '.mp4', '.webm', '.pdf', '.zip'];
const COOKIES = 'PHPSESSID,laravel_session,wordpress_logged_in_*';

/** The guard's settings to replay, from options or from a php.ini. */
final class Guard
{
    public function __construct(
        public readonly string $limits = '',
        public readonly bool $enforces = true,
        public readonly string $trusted = '',
        public readonly string $allowed = '',
        public readonly array $notes = [],
    ) {
    }

    public static function of(array $options): self
    {
        $limits = $options['guard'] ?? '';
        $ini = $notes = [];
        if (str_ends_with($limits, '.ini')) {
            // PHP applies all that follows such a section only to this host or path.
            [$text, $section] = preg_split('/^[ \t]*\[[ \t]*(?=(host|path)[^\]])/im', is_file($limits) ? (string) @file_get_contents($limits) : '', 2) + [1 => ''];
            $ini = is_file($limits) ? @parse_ini_string($text) : ($limits === 'php.ini' ? ini_get_all('tokenbucket', false) : false);
            if ($ini === false) {
                throw new Failure(text($limits) . ' cannot be read as a php.ini', 2);
            }
            if ($section !== '') {
                $notes[] = 'the settings from [' . text(strtok($section, "]\r\n")) . '] on are those of a host or a path, and are not replayed';
            }
            $ini = array_map(trim(...), array_filter($ini, is_string(...)));
            $limits = $ini['tokenbucket.guard'] ?? '';
        }
        if (isset($options['guard']) && trim($limits, "; \t\r\n\f") === '') {
            throw new Failure(str_ends_with($options['guard'], '.ini') ? text($options['guard']) . ' has no limit in tokenbucket.guard' : '--guard has no limit', 2);
        }
        if (($ini['tokenbucket.guard_local'] ?? '') !== '') {
            $notes[] = 'the limits of tokenbucket.guard_local are not replayed';
        }
        if (($ini['tokenbucket.guard_preflights'] ?? '') !== '') {
            $notes[] = 'a log does not show preflight requests, so the limits of tokenbucket.guard_preflights are not replayed';
        }
        $mode = $options['mode'] ?? $ini['tokenbucket.guard_mode'] ?? 'enforce';
        if (!in_array($mode, ['enforce', 'observe'], true)) {
            throw new Failure('--mode must be enforce or observe, ' . text($mode) . ' given', 2);
        }
        return new self(
            $limits,
            $mode === 'enforce',
            $options['trusted-proxies'] ?? $ini['tokenbucket.guard_trusted_proxies'] ?? '',
            $options['allow'] ?? $ini['tokenbucket.guard_allow'] ?? '',
            $notes,
        );
    }
}

/** @param list<string> $parts of the format */
function replay(int $logs, array $parts, Guard $guard = new Guard(), array $options = [], array $groups = []): LogReplay
{
    $limits = fn (string $paths): string => "on $paths all 1/day";
    $static = isset($options['all-files']) ? [] : ASSETS;
    $strangers = 'unless cookie ' . ($options['cookie'] ?? COOKIES) . ' all 1/day';
    return new LogReplay($logs, $parts, $guard->limits, $guard->enforces, $guard->trusted, $guard->allowed, $strangers, array_values(array_map($limits, $groups)), $static, isset($options['decisions']));
}

/** Reads all logs. Passes what the replay lists to $take. */
function read_logs(LogReplay $replay, array $logs, ?JsonLines $json, \Closure $take): void
{
    $jsons = array_map(fn () => $json === null ? null : clone $json, $logs);
    $sizes = array_column($logs, 'size');
    $progress = new Progress(in_array(0, $sizes, true) ? 0 : array_sum($sizes));
    while (($number = $replay->next()) !== null) {
        [$bytes, $is_over] = $logs[$number]->read();
        $take($replay->read($number, $jsons[$number]?->lines($bytes, $is_over) ?? $bytes, $is_over));
        $progress->show(array_sum(array_column($logs, 'read')));
    }
    $progress->end();
}

/** Reports whether lines name the script that ran. */
function has_script(array $parts): bool
{
    return array_intersect(['SCRIPT_NAME', 'SCRIPT_FILENAME'], $parts) !== [];
}

/** Returns what is known about the lines, as the beginning of the report. */
function lines_report(LogReplay $replay, array $logs, array $parts, Guard $guard, bool $anonymous): array
{
    $summary = $replay->summary();
    $truncated = array_filter($logs, fn (Log $log) => $log->is_truncated);
    $notes = [...$guard->notes, ...array_map(fn (Log $log) => text($log->name) . ' ends in the middle of the compressed data', array_values($truncated))];
    $has = fn (string ...$names): bool => array_intersect($names, $parts) !== [];
    if (!$has('SECONDS', 'MILLISECONDS', 'MICROSECONDS')) {
        $notes[] = 'the log has no durations, so the instant of a request is that of its line';
    }
    if (!has_script($parts) && ($guard->limits === '' || array_filter(array_column($summary['limits'], 'has_path')) !== [])) {
        $notes[] = 'the log does not name the script that ran, so limits on paths are replayed by the URI alone';
    }
    if (!$has('HTTP_COOKIE') && preg_grep('/^COOKIE_/', $parts) === []) {
        $notes[] = 'the log has no cookies';
    }
    if (!$has('HTTP_USER_AGENT')) {
        $notes[] = 'the log has no user agents';
    }
    if ($guard->trusted !== '' && !$has('HTTP_X_FORWARDED_FOR')) {
        $notes[] = 'the log has no X-Forwarded-For, so all clients behind a proxy count as the proxy';
    }
    if ($summary['skipped'] > 0) {
        $notes[] = "$summary[skipped] requests " . ($has('UPSTREAM') ? 'that were not passed to PHP' : 'for static files (--all-files counts them)') . ' were left out';
    }
    if ($summary['exempt'] > 0) {
        $notes[] = "$summary[exempt] requests of allowed clients, or without an address, were left out";
    }
    if ($summary['malformed'] > 0) {
        $notes[] = "$summary[malformed] requests are of clients without an IP address, such as names of hosts, and count as one client";
    }
    if ($summary['late'] > 0) {
        $notes[] = "$summary[late] lines were not in the order of time by more than a minute, and count at the instant of the line before";
    }
    $failures = [];
    foreach (array_filter($summary['failures'], fn (array $failure) => $failure['count'] > 0) as $kind => $failure) {
        $failures[] = ['kind' => $kind, 'lines' => $failure['count'], 'examples' => $anonymous ? [] : array_map(text(...), $failure['examples'])];
    }
    return array_intersect_key($summary, array_flip(['lines', 'requests', 'exempt', 'malformed', 'skipped', 'late', 'first', 'last'])) + ['anonymous' => $anonymous, 'failures' => $failures, 'notes' => $notes];
}

/** Prints what is known about the lines. */
function print_lines(array $report): void
{
    $time = fn (float $instant): string => gmdate('Y-m-d H:i:s', (int) $instant);
    printf("%d lines, %d requests from %s to %s UTC\n", $report['lines'], $report['requests'], $time($report['first']), $time($report['last']));
    foreach ($report['failures'] as $failure) {
        printf("%d lines are no requests (%s)%s\n", $failure['lines'], $failure['kind'], $failure['examples'] === [] ? '' : ', such as:');
        foreach ($failure['examples'] as $example) {
            echo "    $example\n";
        }
    }
    foreach ($report['notes'] as $note) {
        echo "Note: $note.\n";
    }
}

/**
 * Writes all of a text, or fails.
 *
 * @param resource $file
 */
function write($file, string $text): void
{
    if (@fwrite($file, $text) !== strlen($text)) {
        throw new Failure(text(stream_get_meta_data($file)['uri']) . ' cannot be written', 1);
    }
}

/**
 * Opens the file of an option, which keeps its bytes until others are written. So an error is
 * reported before the logs are read. Fails if it is one of the other files.
 *
 * @param list<resource> $others
 * @return ?resource
 */
function output(?string $name, array $others)
{
    if ($name === null) {
        return null;
    }
    $file = @fopen($name, 'cb') ?: throw new Failure(text($name) . ' cannot be written', 2);
    $inode = fn ($file): array => array_slice(fstat($file), 0, 2);
    if (is_file($name) && in_array($inode($file), array_map($inode, $others), true)) {
        throw new Failure(text($name) . ' is a log or the file of another option', 2);
    }
    return $file;
}

/**
 * Ends a file that was written.
 *
 * @param resource $file
 */
function finish($file): void
{
    @ftruncate($file, ftell($file));
    fclose($file);
}

/** Returns a number in percent. */
function share(int $part, int $of): string
{
    return $of === 0 ? '0 %' : rtrim(rtrim(sprintf('%.2f', 100 * $part / $of), '0'), '.') . ' %';
}

/** Returns the network of a client, for reports without addresses. */
function network(string $client): string
{
    $bytes = (string) @inet_pton(strtok($client, '/'));
    return match (strlen($bytes)) {
        4 => inet_ntop(substr($bytes, 0, 3) . "\0") . '/24',
        16 => inet_ntop(substr($bytes, 0, 6) . str_repeat("\0", 10)) . '/48',
        default => $client,
    };
}

/** Returns the paths of --group=NAME=PATH,PATH by the name of their group. */
function groups(array $options): array
{
    $groups = [];
    foreach ($options['group'] ?? [] as $group) {
        [$name, $paths] = explode('=', $group, 2) + [1 => ''];
        // The paths become a part of a setting in quotes.
        if ($name === '' || $paths === '' || text($group) !== $group || strpbrk($group, '$"\'') !== false) {
            throw new Failure('--group must be a name, "=" and paths such as /search*, without quotes and "$", ' . text($group) . ' given', 2);
        }
        if (isset($groups[$name])) {
            throw new Failure("--group has the name $name twice", 2);
        }
        $groups[$name] = $paths;
    }
    return $groups;
}

function advise(array $names, array $options): int
{
    // The sums of clients may need more than a page of the site.
    ini_set('memory_limit', '-1');
    $guard = Guard::of($options);
    $groups = groups($options);
    $finds_groups = $guard->limits === '' && $groups === [];
    $logs = array_map(fn (string $name) => new Log($name, $finds_groups), $names);
    $lines = '';
    foreach ($logs as $log) {
        $lines = $lines === '' ? $log->begin() : $lines;
    }
    [$parts, $json] = format($options['format'] ?? null, $lines, isset($options['anonymise']));
    $replay = replay(count($logs), $parts, $guard, $options, $groups);
    $files = array_map(fn (Log $log) => $log->file, $logs);
    $list = output($options['decisions'] ?? null, $files);
    $analysis = $guard->limits === '' ? new Proposal($replay, $groups, $options) : new Denials($replay, $guard, $options, $list);
    $page = output($options['html'] ?? null, [...$files, ...array_filter([$list])]);
    read_logs($replay, $logs, $json, $analysis->take(...));
    if ($finds_groups && ($groups = frequent($replay, has_script($parts))) !== []) {
        // The logs are read again, so that each group counts the requests that its limit counts.
        array_walk($logs, fn (Log $log) => $log->begin_again());
        $replay = replay(count($logs), $parts, $guard, $options, $groups);
        $analysis = new Proposal($replay, $groups, $options);
        read_logs($replay, $logs, $json, $analysis->take(...));
    }
    $report = lines_report($replay, $logs, $parts, $guard, isset($options['anonymise']));
    if ($report['requests'] === 0) {
        $failures = array_map(fn (array $failure) => "$failure[lines] lines are none ($failure[kind])" . ($failure['examples'] === [] ? '' : ', such as ' . $failure['examples'][0]), $report['failures']);
        throw new Failure(implode('; ', ['the logs have no request that PHP would serve', ...$failures]), 2);
    }
    $report += $analysis->report();
    if ($page !== null) {
        write($page, Page::of($report));
        finish($page);
    }
    if (isset($options['json'])) {
        echo json_encode($report, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";
    } else {
        print_lines($report);
        $guard->limits === '' ? print_proposal($report) : print_denials($report);
    }
    return 0;
}
