<?php
/**
 * Shows TokenBucket\status() to operators. One file without other assets, in the manner of apc.php.
 *
 * Copy it to a place that your web server passes to the php-fpm to watch. It denies every request
 * until you set ALLOWED_ADDRESSES or PASSWORD_HASH. If both are set, a request needs both.
 */
namespace TokenBucket\StatusPage;

/**
 * The addresses that may open the page, for example ['192.0.2.7', '10.0.0.0/8', '2001:db8::/48'].
 * If a proxy has forwarded a request, the client's address is unknown, so the request is denied.
 */
const ALLOWED_ADDRESSES = [];
/**
 * The output of:
 * php -r 'echo password_hash(readline("Password: "), PASSWORD_DEFAULT), "\n";'
 */
const PASSWORD_HASH = '';
/** Shows the most denied identifiers, which may be personal data, instead of hashes of them. */
const SHOW_IDENTIFIERS = false;
/** The seconds between two reloads of an open page. */
const INTERVAL = 5;
/** The seconds in which a request for the page measures the present rates. */
const SAMPLE = 1;

const PROXY_HEADERS = '/^HTTP_(VIA$|FORWARDED|X_FORWARDED|X_REAL_IP$|CF_CONNECTING_IP|(\w+_)?CLIENT_IP$)/';
const UNCONFIGURED = "This page denies every request until ALLOWED_ADDRESSES or PASSWORD_HASH is set at the top of its file.\n";

/** Returns the bytes of an address, without the prefix of an IPv4 address in IPv6. */
function packed(string $address): string
{
    return preg_replace('/^\0{10}\xff\xff/', '', (string) @inet_pton($address));
}

/** Reports whether an address equals another one, or belongs to a network such as 10.0.0.0/8. */
function is_within(string $address, string $network): bool
{
    [$base, $bits] = explode('/', $network) + [1 => '128'];
    [$address, $base] = [packed($address), packed($base)];
    $length = 8 * strlen($base);
    if ($length === 0 || strlen($address) !== strlen($base) || preg_match('/^\d{1,3}$/D', $bits) !== 1) {
        return false;
    }
    $digits = fn (string $bytes): string => vsprintf(str_repeat('%08b', $length / 8), unpack('C*', $bytes));
    return strncmp($digits($address), $digits($base), (int) $bits) === 0;
}

/** Returns the status and the reason of a refusal, or null if the request may see the page. */
function refusal(array $server): ?array
{
    $address = $server['REMOTE_ADDR'] ?? '';
    $is_within = fn (string $network): bool => is_within($address, $network);
    return match (true) {
        ALLOWED_ADDRESSES === [] && PASSWORD_HASH === '' => [403, UNCONFIGURED],
        !extension_loaded('tokenbucket') => [503, "The extension tokenbucket is not loaded in this PHP.\n"],
        ALLOWED_ADDRESSES === [] => wrong_password($address, $server['PHP_AUTH_PW'] ?? null),
        preg_grep(PROXY_HEADERS, array_keys($server)) !== [] => [403, "A proxy has forwarded this request, so its address is unknown.\n"],
        array_filter(ALLOWED_ADDRESSES, $is_within) === [] => [403, "Your address is not in the list of allowed addresses.\n"],
        PASSWORD_HASH === '' => null,
        default => wrong_password($address, $server['PHP_AUTH_PW'] ?? null),
    };
}

/**
 * Returns the client of an address. All IPv6 addresses with the same first 64 bits are one client.
 */
function client(string $address): string
{
    $bytes = packed($address);
    return strlen($bytes) === 16 ? inet_ntop(substr($bytes, 0, 8) . str_repeat("\0", 8)) . '/64' : (string) @inet_ntop($bytes);
}

/** Checks the password. Each client may try ten wrong passwords at once, and ten a minute. */
function wrong_password(string $address, ?string $password): ?array
{
    if ($password !== null) {
        $tries = new \TokenBucket(new \TokenBucketStorageSharedMemory('status.php'), client($address), 10, 10 / \TokenBucket::MINUTE);
        // Takes the token before the slow check of the password, so that parallel guesses count,
        // too.
        $try = $tries->attempt();
        // A full table must not keep operators from their page.
        if (!$try->allowed && $try->reason !== 'table_full') {
            header('Retry-After: ' . ceil($try->retryAfter));
            return [429, "Too many wrong passwords from your address.\n"];
        }
        if (password_verify($password, PASSWORD_HASH)) {
            $try->allowed && $tries->refund();
            return null;
        }
    }
    header('WWW-Authenticate: Basic realm="tokenbucket", charset="UTF-8"');
    return [401, "A password is required. The user name does not matter.\n"];
}

/** Returns any bytes as HTML. Bytes that are not printable characters become \x and two digits. */
function text(string $bytes): string
{
    // In text that is not UTF-8, only ASCII characters are known.
    $hidden = preg_match('//u', $bytes) === 1 ? '/[\p{C}\p{Zl}\p{Zp}]/u' : '/[^ -~]/';
    $escape = fn (array $match): string => '\x' . implode('\x', str_split(bin2hex($match[0]), 2));
    return htmlspecialchars(preg_replace_callback($hidden, $escape, $bytes), ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

function rate(float $a_second): string
{
    return number_format($a_second, $a_second >= 100 || $a_second == 0 ? 0 : ($a_second >= 10 ? 1 : 2));
}

function percent(float $part, float $whole): string
{
    return number_format($whole > 0 ? 100 * $part / $whole : 0, 1) . '&nbsp;%';
}

/** Returns a time in seconds with a unit that suits it. */
function duration(float $seconds): string
{
    [$size, $unit] = match (true) {
        $seconds >= 172_800 => [86_400, 'days'],
        $seconds >= 7_200 => [3_600, 'hours'],
        $seconds >= 120 => [60, 'minutes'],
        $seconds >= 1, $seconds == 0 => [1, 's'],
        $seconds >= 0.001 => [0.001, 'ms'],
        default => [0.000_001, 'µs'],
    };
    return round($seconds / $size, $seconds / $size < 10 ? 1 : 0) . "&nbsp;$unit";
}

/** The status, an earlier one that shows which counters grow now, and the HTML of their parts. */
final class Snapshot
{
    private readonly array $memory;

    /** @param float $seconds the time between the two states */
    public function __construct(private readonly array $status, private readonly array $earlier, private readonly float $seconds)
    {
        $this->memory = $status['shared_memory'];
    }

    /** @return array<string, string> the HTML of each part of the page, and its title as text */
    public function parts(): array
    {
        $parts = ['header', 'warnings', 'now', 'namespaces', 'guard', 'stores', 'notes', 'identifiers', 'memory', 'counters'];
        $html = array_combine($parts, array_map(fn (string $part): string => $this->$part(), $parts));
        $problems = substr_count($html['warnings'], '<li class="problem">');
        return $html + ['title' => ($problems > 0 ? "($problems) " : '') . 'tokenbucket on ' . gethostname()];
    }

    private function header(): string
    {
        $facts = [
            text((string) gethostname()),
            'PHP ' . PHP_VERSION . ' (' . PHP_SAPI . ')',
            'tokenbucket ' . text($this->status['version']),
            'counting for ' . duration($this->memory['age']),
        ];
        return '<p>' . implode(' <i>·</i> ', $facts) . '</p><p>As of <time>' . date('Y-m-d H:i:s T') . '</time></p>';
    }

    /** Returns the present rate of a counter. A new segment begins at 0. */
    private function rate(int $count, ?int $earlier): string
    {
        return rate(max(0, $count - (int) $earlier) / $this->seconds);
    }

    /** Returns the present rate of a counter of status(), in bold red if it grows. */
    private function pace(string $part, string $counter): string
    {
        [$count, $earlier] = [$this->status[$part][$counter], $this->earlier[$part][$counter]];
        $class = $count > $earlier ? 'pace rising' : 'pace';
        return "<span class=\"$class\">" . $this->rate($count, $earlier) . '/s now</span>';
    }

    private function warnings(): string
    {
        $problems = $this->messages('problem');
        $warnings = $this->messages('warning');
        $count = fn (array $of, string $word): string => $of === [] ? '' : count($of) . " $word" . (count($of) > 1 ? 's' : '');
        $title = implode(', ', array_filter([$count($problems, 'problem'), $count($warnings, 'warning')]));
        return $title === '' ? '<h2 class="good">No problems</h2>' : "<h2>$title</h2><ul>" . implode('', [...$problems, ...$warnings]) . '</ul>';
    }

    private function notes(): string
    {
        return '<ul>' . implode('', $this->messages('note') ?: ['<li class="note">None</li>']) . '</ul>';
    }

    /** @return list<string> the messages of a level that apply, as elements of a list */
    private function messages(string $level): array
    {
        $all = [...$this->memory_warnings(), ...$this->permit_warnings(), ...$this->remote_warnings(), ...$this->setting_warnings()];
        $apply = array_filter($all, fn (array $message): bool => $message[0] && $message[1] === $level);
        $title = $level === 'note' ? '' : '<b>' . ucfirst($level) . '</b> ';
        return array_values(array_map(fn (array $message): string => "<li class=\"$level\">$title<span>$message[2]</span></li>", $apply));
    }

    /** @return list<array{bool, string, string}> whether it applies, its level, its HTML */
    private function memory_warnings(): array
    {
        $memory = $this->memory;
        $is_named = $memory['backing'] === 'named';
        $used = $memory['live'] / max(1, $memory['slots']);
        $consequence = $memory['full'] === 'evict' ? 'makes others full again' : 'may be denied';
        $size = (int) @ini_parse_quantity((string) ini_get('tokenbucket.shm_size'));
        $events = fn (string $counter): string => number_format($memory[$counter]);
        $pace = fn (string $counter): string => '(' . $this->pace('shared_memory', $counter) . ')';
        return [
            [!$is_named && ini_get('tokenbucket.shm_path') != '', 'problem', 'The file of <code>tokenbucket.shm_path</code> is not used, so other masters and CLI processes do not share these buckets. PHP\'s log has the reason, at its last start.'],
            [$memory['refused'] > 0, 'problem', "Calls denied because no slot was free: {$events('refused')} {$pace('refused')}. Raise <code>tokenbucket.shm_size</code>."],
            [$used > 0.5, $used > 0.7 ? 'problem' : 'warning', percent($used, 1) . " of the slots are in use. Above 50&nbsp;%, a new bucket sometimes $consequence. Double <code>tokenbucket.shm_size</code>."],
            [$memory['evicted'] > 0, 'warning', "Buckets evicted before they were full: {$events('evicted')} {$pace('evicted')}. Each may grant its missing tokens again. Double <code>tokenbucket.shm_size</code>."],
            [$memory['contended'] > 0, 'warning', "Calls denied because they lost too many races: {$events('contended')} {$pace('contended')}. Spread the load over more identifiers."],
            [$memory['backing'] === 'anonymous', 'warning', 'A reload of php-fpm loses all buckets, because the kernel has no memfd.'],
            [in_array(null, array_column($this->status['decisions'], 'namespace'), true), 'warning', 'More than 48 namespaces are in use, so some are counted together. Do not take namespaces from requests.'],
            [!$is_named && ini_get('tokenbucket.shm_path') == '', 'note', 'Private memory: CLI processes and other masters do not share these buckets. To share them, set <code>tokenbucket.shm_path</code>.'],
            [$is_named && $memory['slots'] * 16 !== ($size & ~4095), 'note', 'The file of <code>tokenbucket.shm_path</code> has kept another size than <code>tokenbucket.shm_size</code>. To change its size, stop PHP and remove the file.'],
            [$this->memory['age'] < 300, 'note', 'The memory was created ' . duration($this->memory['age']) . ' ago. All buckets were full then, and the counters 0.'],
        ];
    }

    /** @return list<array{bool, string, string}> the same for concurrency limits */
    private function permit_warnings(): array
    {
        $permits = $this->status['permits'];
        $foreign = number_format($permits['foreign']);
        return [
            [$permits['unavailable'] !== null, 'warning', 'Concurrency limits deny all calls, because processes cannot hold permits: <q>' . text((string) $permits['unavailable']) . '</q>.'],
            [$permits['foreign'] > 0, 'warning', "Permits that were lost while they were held: $foreign ({$this->pace('permits', 'foreign')}). Do not open the file of <code>tokenbucket.shm_path</code> in PHP code."],
        ];
    }

    private function remote_warnings(): array
    {
        $found = [];
        foreach ($this->status['stores'] as $store) {
            $cause = $store['last_cause'] === null ? '' : ' Last failure, ' . duration($store['last_cause_age']) . ' ago: <q>' . text($store['last_cause']) . '</q>.';
            $name = '<code>' . text($store['name']) . '</code>';
            $found[] = [$store['breaker'] === 'open', 'problem', "The store $name is down, and the failure policy decides. " . ucfirst(self::next_try($store)) . ".$cause"];
            $found[] = [$store['breaker'] !== 'open' && $store['failures'] > 0, 'warning', "The last calls to the store $name failed ($store[failures] in a row).$cause"];
        }
        foreach ([
            'allowed' => 'Calls allowed without a limit, because their store failed',
            'denied' => 'Calls denied, because their store failed',
            'local' => 'Calls limited by this host alone, because their store failed',
            'thrown' => 'Calls that threw a <code>StorageException</code>, because their store failed',
            'set_back' => 'Calls that found a bucket from the future, so a server\'s clock was set back',
        ] as $counter => $words) {
            $count = $this->status['remote'][$counter];
            $found[] = [$count > 0, 'warning', "$words: " . number_format($count) . ' (' . $this->pace('remote', $counter) . ').'];
        }
        return $found;
    }

    private static function next_try(array $store): string
    {
        return $store['retry_after'] > 0 ? 'next try in ' . duration($store['retry_after']) : 'the next call tries it';
    }

    private function setting_warnings(): array
    {
        $is_silent = in_array(ini_get('tokenbucket.failure_report'), ['none', ''], true);
        return [
            [$is_silent, $this->status['stores'] === [] ? 'note' : 'warning', 'Failures of stores are not logged, because <code>tokenbucket.failure_report</code> is <code>none</code>.'],
            [self::tracks(), 'note', 'The memory holds identifiers, because <code>tokenbucket.track_identifiers</code> is on. They may be personal data.'],
        ];
    }

    /** Reports whether the extension keeps identifiers. */
    private static function tracks(): bool
    {
        return in_array(strtolower((string) ini_get('tokenbucket.track_identifiers')), ['1', 'on', 'yes', 'true'], true);
    }

    /** @return array{int, int} the granted and denied calls of rows of status()['decisions'] */
    private static function decided(array $rows): array
    {
        $sum = fn (string ...$fields): int => array_sum(array_map(fn (string $field) => array_sum(array_column($rows, $field)), $fields));
        return [$sum('granted_by_store', 'granted_by_fallback'), $sum('denied_by_store', 'denied_by_denial_cache', 'denied_by_fallback')];
    }

    private function now(): string
    {
        // Lines of the log are no calls.
        $is_call = fn (array $row): bool => $row['namespace'] !== 'guard: log lines';
        [$granted, $denied] = self::decided(array_filter($this->status['decisions'], $is_call));
        [$granted_before, $denied_before] = self::decided(array_filter($this->earlier['decisions'], $is_call));
        $memory = $this->memory;
        $tile = fn (string $title, string $value, string $more, string $class = ''): string
            => "<div class=\"tile $class\"><h3>$title</h3><p class=\"value\">$value</p><p>$more</p></div>";
        return $tile('Granted', $this->rate($granted, $granted_before) . '<small>/s now</small>', number_format($granted) . ' since the start', 'granted')
            . $tile('Denied', $this->rate($denied, $denied_before) . '<small>/s now</small>', number_format($denied) . ' since the start', 'denied')
            . $tile('Denied share', percent($denied, $granted + $denied), 'since the start')
            . $tile('Slots in use', percent($memory['live'], $memory['slots']), number_format($memory['live']) . ' of ' . number_format($memory['slots']));
    }

    private function stores(): string
    {
        $remote = $this->status['remote'];
        if ($this->status['stores'] === []) {
            return '<p class="empty">No remote store has been used.</p>';
        }
        $rows = array_map(fn (array $store): array => [
            '<code>' . text($store['name']) . '</code>',
            $store['breaker'] === 'open' ? '<b class="bad">open</b>, ' . self::next_try($store) : '<b class="good">closed</b>',
            number_format($store['calls']),
            $store['calls'] > 0 ? duration($store['seconds'] / $store['calls']) : '–',
            isset($store['p99']) ? duration($store['p99']) : '–',
            duration($store['timeout']),
            number_format($store['failures']),
            number_format($store['opened']),
            self::failures($store),
        ], $this->status['stores']);
        return '<p>Calls sent to stores: ' . number_format($remote['asked']) . ' (' . $this->pace('remote', 'asked') . '), failed: '
            . number_format($remote['failed']) . '. Denials that the denial cache answered: ' . number_format($remote['cached']) . '.</p>'
            . self::table(['Store', 'Breaker', '#Calls', '#Average', '#99 % within', '#Timeout', '#Failures in a row', '#Times opened', 'Failures'], $rows);
    }

    /** Returns the failures of a store by kind, and the last one. */
    private static function failures(array $store): string
    {
        if ($store['last_cause'] === null) {
            return '–';
        }
        $of_kind = fn (string $kind, int $count): string => number_format($count) . ' ' . text($kind);
        $kinds = implode(', ', array_map($of_kind, array_keys($store['causes']), $store['causes']));
        return "$kinds. Last, " . duration($store['last_cause_age']) . ' ago: <q>' . text($store['last_cause']) . '</q>';
    }

    private function namespaces(): string
    {
        $namespaces = $this->status['decisions'];
        if ($namespaces === []) {
            return '<p class="empty">No call has been counted yet.</p>';
        }
        usort($namespaces, fn (array $a, array $b): int => self::decided([$b])[1] <=> self::decided([$a])[1]);
        $rows = array_map(function (array $row): array {
            [$granted, $denied] = self::decided([$row]);
            $is_same = fn (array $other): bool => [$other['store'], $other['namespace']] === [$row['store'], $row['namespace']];
            [$granted_before, $denied_before] = self::decided(array_filter($this->earlier['decisions'], $is_same));
            return [
                self::name($row),
                $this->rate($granted, $granted_before),
                $this->rate($denied, $denied_before),
                number_format($granted),
                number_format($denied),
                percent($denied, $granted + $denied),
                number_format($row['denied_by_denial_cache']),
                number_format($row['granted_by_fallback'] + $row['denied_by_fallback']),
            ];
        }, $namespaces);
        return self::table(['Namespace', '#Granted/s now', '#Denied/s now', '#Granted', '#Denied', '#Denied share', '#Denied by cache', '#Decided by fallback'], $rows);
    }

    /** Returns the limits of the guard. */
    private function guard(): string
    {
        $limits = array_filter($this->status['decisions'], fn (array $row): bool => isset($row['blocked']));
        if ($limits === []) {
            return '<p class="empty">The guard has decided about no request. <code>tokenbucket.guard</code> in php.ini sets its limits.</p>';
        }
        usort($limits, fn (array $a, array $b): int => $b['clients_denied_today'] <=> $a['clients_denied_today']);
        $rows = array_map(fn (array $row): array => [
            '<code>' . text($row['namespace']) . '</code>',
            number_format($row['denied_by_store']),
            number_format($row['clients_denied_today']),
            number_format($row['clients_denied_yesterday']),
            number_format($row['blocked']),
            $row['permits_limit'] === null && $row['permits_held'] === 0 ? '–' : number_format($row['permits_held']),
            $row['permits_limit'] === null ? '–' : number_format($row['permits_limit']),
        ], $limits);
        return '<p>In the mode <code>observe</code>, these are the requests and clients that the limit would have denied. The clients are estimates, by days in UTC.</p>'
            . self::table(['Limit', '#Denied', '#Clients denied today', '#Yesterday', '#Blocked', '#Permits in use', '#Permits of each key'], $rows);
    }

    private function identifiers(): string
    {
        if (!self::tracks()) {
            return '<p class="empty">Identifiers are not kept. To list the most denied ones, set <code>tokenbucket.track_identifiers=1</code> in php.ini.</p>';
        }
        if ($this->status['most_denied'] === []) {
            return '<p class="empty">No identifier has been denied often.</p>';
        }
        $rows = array_map(fn (array $row): array => [
            SHOW_IDENTIFIERS ? '<code>' . text($row['identifier']) . '</code>' : '<code class="hash">' . self::hash($row['identifier']) . '</code>',
            self::name($row),
            number_format($row['denied']),
        ], $this->status['most_denied']);
        $note = SHOW_IDENTIFIERS ? '' : '<p>These are hashes. To see the identifiers, set <code>SHOW_IDENTIFIERS</code> in the file of this page.</p>';
        return $note . self::table([SHOW_IDENTIFIERS ? 'Identifier' : 'Hash of the identifier', 'Namespace', '#Denied at least'], $rows);
    }

    /** Returns a hash of an identifier. Readers of the page do not know its key. */
    private static function hash(string $identifier): string
    {
        $key = PASSWORD_HASH . fileinode(__FILE__) . filectime(__FILE__);
        return substr(hash_hmac('sha256', $identifier, $key), 0, 12);
    }

    /** Returns the namespace and the store of a row of status(). */
    private static function name(array $row): string
    {
        $name = match ($row['namespace']) {
            null => '<i>further namespaces</i>',
            '' => '<i>none</i>',
            default => '<code>' . text($row['namespace']) . '</code>',
        };
        return "$name <small class=\"store\">" . text(strtr($row['store'], '_', ' ')) . '</small>';
    }

    private function memory(): string
    {
        $memory = $this->memory;
        $states = [
            'live' => 'buckets that are not full',
            'pending' => 'claimed by a call now',
            'reclaimable' => 'full buckets, whose slots others may take',
            'empty' => 'never used',
        ];
        $rows = [];
        foreach ($states as $state => $meaning) {
            $rows[] = ["$state <small>$meaning</small>", number_format($memory[$state]), percent($memory[$state], $memory['slots'])];
        }
        $where = $memory['backing'] === 'named' ? 'Shared file <code>' . text($memory['path']) . '</code>' : 'Private memory (' . text($memory['backing']) . ')';
        $longest = $memory['evicted'] > 0 ? ', which needed up to ' . duration($memory['evicted_seconds_max']) . ' to be full' : '';
        return "<p>$where of " . number_format($memory['size'] / 1048576, 1) . '&nbsp;MB. '
            . 'Evicted: ' . number_format($memory['evicted']) . " buckets$longest. "
            . 'Refused: ' . number_format($memory['refused']) . ' calls. '
            . 'Permits held: ' . number_format($this->status['permits']['held']) . '. '
            . $this->force()
            . ($memory['full'] === 'evict' ? 'A full table evicts the fullest bucket.' : 'A full table denies new buckets.') . '</p>'
            . self::table(['State', '#Slots', '#Share'], $rows);
    }

    private function force(): string
    {
        $guard = $this->status['guard'];
        return $guard['in_force'] ? 'The guard is in force. ' : ($guard['reason'] === null ? '' : 'The guard is not in force: ' . text($guard['reason']) . '. ');
    }

    private function counters(): string
    {
        $rows = [];
        foreach (['shared_memory', 'permits', 'remote'] as $part) {
            foreach (array_filter($this->status[$part], is_int(...)) as $name => $count) {
                if (!in_array($name, ['size', 'slots', 'live', 'reclaimable', 'pending', 'empty', 'held'], true)) {
                    $rows[] = ["<code>$part.$name</code>", $this->rate($count, $this->earlier[$part][$name]), number_format($count)];
                }
            }
        }
        return self::table(['Counter', '#Per second now', '#Since the start'], $rows);
    }

    /**
     * Returns a table. A # in front of a column's title aligns its numbers.
     *
     * @param list<string> $titles
     * @param list<list<string>> $rows the cells as HTML. The first cell of a row is its header
     */
    private static function table(array $titles, array $rows): string
    {
        $class = fn (int $column): string => $titles[$column][0] === '#' ? ' class="number"' : '';
        $html = '<thead><tr>';
        foreach ($titles as $column => $title) {
            $html .= "<th scope=\"col\"{$class($column)}>" . ltrim($title, '#') . '</th>';
        }
        $html .= '</tr></thead><tbody>';
        foreach ($rows as $row) {
            $html .= '<tr>';
            foreach ($row as $column => $cell) {
                $html .= $column === 0 ? "<th scope=\"row\">$cell</th>" : "<td{$class($column)}>$cell</td>";
            }
            $html .= '</tr>';
        }
        return "<div class=\"wide\"><table>$html</tbody></table></div>";
    }
}

$refusal = refusal($_SERVER);
header('Cache-Control: no-store');
header('X-Content-Type-Options: nosniff');
if ($refusal !== null) {
    http_response_code($refusal[0]);
    header('Content-Type: text/plain; charset=utf-8');
    exit($refusal[1]);
}
$status = \TokenBucket\status();
if (!isset($status['shared_memory'])) {
    http_response_code(503);
    header('Content-Type: text/plain; charset=utf-8');
    exit("The extension has no shared memory. PHP's log has the reason, at its last start.\n");
}
$start = hrtime(true);
usleep((int) (1e6 * SAMPLE));
$parts = (new Snapshot(\TokenBucket\status(), $status, (hrtime(true) - $start) / 1e9))->parts();
$is_still = isset($_GET['still']);
$nonce = base64_encode(random_bytes(18));
header('Content-Type: text/html; charset=utf-8');
header("Content-Security-Policy: default-src 'none'; style-src 'nonce-$nonce'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
header('Referrer-Policy: no-referrer');
$part = fn (string $name): string => "<div id=\"$name\">$parts[$name]</div>";
?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title><?= text($parts['title']) ?></title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Cpath d='M1 1h6L6 7H2z' fill='%230b6bcb'/%3E%3C/svg%3E">
<?= $is_still ? '' : '<meta http-equiv="refresh" content="' . INTERVAL . '">' ?>

<style nonce="<?= $nonce ?>">
:root {
    --page: #f5f6f8; --card: #fff; --line: #dce0e6; --text: #1a1f26; --muted: #59636e;
    --granted: #0b63c1; --denied: #bc4c00; --problem: #b42318; --warning: #8a5300; --good: #1a7037;
    --soft-problem: #fdecea; --soft-warning: #fdf3dc;
}
@media (prefers-color-scheme: dark) {
    :root {
        --page: #0e1217; --card: #161b22; --line: #2c333c; --text: #e6eaef; --muted: #9aa5b1;
        --granted: #6cb2ff; --denied: #ff9d5c; --problem: #ff8b80; --warning: #f0b849; --good: #56c271;
        --soft-problem: #3a1a1a; --soft-warning: #33280f;
    }
}
* { box-sizing: border-box; margin: 0; }
body { background: var(--page); color: var(--text); font: 15px/1.45 system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 76rem; margin: 0 auto; padding: 1.25rem 1rem 3rem; display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
h1 { font-size: 1.25rem; }
h2 { font-size: 1rem; margin-bottom: .5rem; }
h3 { font-size: .8rem; font-weight: 600; color: var(--muted); }
code { font: .92em ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
i { font-style: normal; color: var(--muted); }
small { font-size: .8rem; font-weight: 400; color: var(--muted); }
.top { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: baseline; }
.top > div { display: flex; flex-wrap: wrap; gap: 0 1rem; color: var(--muted); flex: 1 1 20rem; justify-content: space-between; }
a { color: var(--granted); }
:focus-visible { outline: 2px solid var(--granted); outline-offset: 2px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; }
.card p { margin-bottom: .6rem; color: var(--muted); }
.card p.empty { margin: 0; }
ul { list-style: none; padding: 0; display: grid; gap: .35rem; }
li { display: flex; gap: .75rem; padding: .45rem .75rem; border-radius: 6px; border-left: 4px solid; }
li b { flex: 0 0 4.6rem; }
.note { padding: 0; border: 0; }
#warnings .problem { border-color: var(--problem); background: var(--soft-problem); }
#warnings .problem b, .bad { color: var(--problem); }
#warnings .warning { border-color: var(--warning); background: var(--soft-warning); }
#warnings .warning b { color: var(--warning); }
.good { color: var(--good); }
.pace, .store { white-space: nowrap; }
.pace.rising { font-weight: 600; color: var(--problem); }
#now { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1rem; }
.tile .value { font-size: 1.9rem; font-weight: 600; line-height: 1.2; color: var(--text); margin: 0; }
.tile p { margin: 0; font-size: .85rem; }
.granted .value { color: var(--granted); }
.denied .value { color: var(--denied); }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .88rem; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; vertical-align: top; border-top: 1px solid var(--line); }
thead th { color: var(--muted); font-weight: 600; border: 0; vertical-align: bottom; }
tbody th { font-weight: 400; min-width: 9rem; }
.number { text-align: right; white-space: nowrap; }
thead .number { white-space: normal; }
.number + :not(.number) { padding-left: 1rem; }
.columns { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 64rem) {
    .columns { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
}
@media (max-width: 46rem) {
    li { display: block; }
    #now { grid-template-columns: 1fr 1fr; }
    .tile .value { font-size: 1.5rem; }
    .tile .value small { display: block; }
}
</style>
</head>
<body>
<main>
<header class="top"><h1>tokenbucket</h1><?= $part('header') ?><?= $is_still ? '<a href="?">Reload every ' . INTERVAL . ' s</a>' : '<a href="?still">Pause</a>' ?></header>
<section class="card" aria-label="Warnings"><?= $part('warnings') ?></section>
<section class="card" aria-label="Decisions"><?= $part('now') ?></section>
<section class="card"><h2>Decisions by namespace</h2><?= $part('namespaces') ?></section>
<section class="card"><h2>Remote stores</h2><?= $part('stores') ?></section>
<section class="card"><h2>Limits of the guard</h2><?= $part('guard') ?></section>
<section class="card"><h2>Notes</h2><?= $part('notes') ?></section>
<div class="columns">
<section class="card"><h2>Most denied</h2><?= $part('identifiers') ?></section>
<section class="card"><h2>Memory</h2><?= $part('memory') ?></section>
</div>
<section class="card"><h2>All counters</h2><?= $part('counters') ?></section>
</main>
</body>
</html>
