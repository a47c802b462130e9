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
/** The seconds between two updates of an open page. */
const INTERVAL = 2;

/** The settings of the extension that differ from these values are marked. */
const DEFAULTS = [
    'tokenbucket.failure_report' => 'log',
    'tokenbucket.guard' => '',
    'tokenbucket.guard_allow' => '',
    'tokenbucket.guard_local' => '',
    'tokenbucket.guard_max_age' => '',
    'tokenbucket.guard_mode' => 'enforce',
    'tokenbucket.guard_password_hash' => '',
    'tokenbucket.guard_preflights' => '',
    'tokenbucket.guard_trusted_proxies' => '',
    'tokenbucket.namespace' => '',
    'tokenbucket.shm_full' => 'evict',
    'tokenbucket.shm_group' => '',
    'tokenbucket.shm_mode' => '0600',
    'tokenbucket.shm_path' => '',
    'tokenbucket.shm_size' => '32M',
    'tokenbucket.track_identifiers' => '0',
];
const PROXY_HEADERS = '/^HTTP_(VIA$|FORWARDED|X_FORWARDED|X_REAL_IP$|CF_CONNECTING_IP|(\w+_)?CLIENT_IP$)/';
const UNCONFIGURED = <<<'TEXT'
    This page denies every request until it is configured.

    Edit the constants at the top of its file. Set at least one of these two:

        const ALLOWED_ADDRESSES = ['192.0.2.7', '10.0.0.0/8'];
        const PASSWORD_HASH = '$2y$...';

    This command prints the hash of a password:

        php -r 'echo password_hash(readline("Password: "), PASSWORD_DEFAULT), "\n";'

    TEXT;

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

/** The status of one moment, and the HTML of its parts. */
final class Snapshot
{
    private readonly array $memory;
    private readonly float $age;

    public function __construct(private readonly array $status)
    {
        $this->memory = $status['shared_memory'];
        $this->age = max($this->memory['age'], 0.001);
    }

    /** @return array<string, int|float|string> the values that the script of the page compares */
    public function sample(): array
    {
        $sections = ['header', 'warnings', 'now', 'namespaces', 'guard', 'stores', 'notes', 'identifiers', 'memory', 'settings', 'counters'];
        $html = array_combine($sections, array_map(fn (string $section): string => $this->$section(), $sections));
        $host = (string) gethostname();
        $problems = substr_count($html['warnings'], '<li class="problem">');
        $title = ($problems > 0 ? "($problems) " : '') . "tokenbucket on $host";
        return ['host' => $host, 'title' => $title, 'age' => $this->age, 'sections' => $html];
    }

    private function header(): string
    {
        $facts = [
            text((string) gethostname()),
            'PHP ' . PHP_VERSION . ' (' . PHP_SAPI . ')',
            'tokenbucket ' . text($this->status['version']),
            'counting for ' . duration($this->age),
        ];
        return '<p>' . implode(' <i>·</i> ', $facts) . '</p><p>As of <time>' . date('Y-m-d H:i:s T') . '</time></p>';
    }

    /** Returns a counter's rate since the start. The script replaces it by the present rate. */
    private function rate(string $key, int $count): string
    {
        return '<span data-rate="' . text($key) . "\" data-count=\"$count\">" . rate($count / $this->age) . '</span>';
    }

    /** Returns a rate with the period that it covers. */
    private function pace(string $key, int $count): string
    {
        return '<span class="pace">' . $this->rate($key, $count) . '/s <span data-period>on average</span></span>';
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
        $pace = fn (string $counter): string => '(' . $this->pace($counter, $memory[$counter]) . ')';
        return [
            [!$is_named && ini_get('tokenbucket.shm_path') != '', 'problem', 'The file of <code>tokenbucket.shm_path</code> is not used, so other masters and CLI processes do not share these buckets. PHP\'s log has the reason, at its last start.'],
            [$memory['refused'] > 0, 'problem', "Calls denied because no slot was free: {$events('refused')} {$pace('refused')}. Raise <code>tokenbucket.shm_size</code>."],
            [$used > 0.5, $used > 0.7 ? 'problem' : 'warning', percent($used, 1) . " of the slots are in use. Above 50&nbsp;%, a new bucket sometimes $consequence. Double <code>tokenbucket.shm_size</code>."],
            [$memory['evicted'] > 0, 'warning', "Buckets evicted before they were full: {$events('evicted')} {$pace('evicted')}. Each may grant its missing tokens again. Double <code>tokenbucket.shm_size</code>."],
            [$memory['contended'] > 0, 'warning', "Calls denied because they lost too many races: {$events('contended')} {$pace('contended')}. Spread the load over more identifiers."],
            [$memory['backing'] === 'anonymous', 'warning', 'A reload of php-fpm loses all buckets, because the kernel has no memfd.'],
            [in_array(null, array_column($this->status['decisions'], 'namespace'), true), 'warning', 'More than 60 namespaces are in use, so some are counted together. Do not take namespaces from requests.'],
            [!$is_named && ini_get('tokenbucket.shm_path') == '', 'note', 'Private memory: CLI processes and other masters do not share these buckets. To share them, set <code>tokenbucket.shm_path</code>.'],
            [$is_named && $memory['slots'] * 16 !== ($size & ~4095), 'note', 'The file of <code>tokenbucket.shm_path</code> has kept another size than <code>tokenbucket.shm_size</code>. To change its size, stop PHP and remove the file.'],
            [$this->age < 300, 'note', 'The memory was created ' . duration($this->age) . ' ago. All buckets were full then, and the counters 0.'],
        ];
    }

    /** @return list<array{bool, string, string}> the same for concurrency limits */
    private function permit_warnings(): array
    {
        $permits = $this->status['permits'];
        $foreign = number_format($permits['foreign']);
        return [
            [$permits['unavailable'] !== null, 'warning', 'Concurrency limits deny all calls, because processes cannot hold permits: <q>' . text((string) $permits['unavailable']) . '</q>.'],
            [$permits['foreign'] > 0, 'warning', "Permits that were lost while they were held: $foreign ({$this->pace('permits foreign', $permits['foreign'])}). Do not open the file of <code>tokenbucket.shm_path</code> in PHP code."],
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
            $found[] = [$count > 0, 'warning', "$words: " . number_format($count) . ' (' . $this->pace("remote $counter", $count) . ').'];
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
        [$granted, $denied] = self::decided($this->status['decisions']);
        $memory = $this->memory;
        $tile = fn (string $title, string $value, string $more, string $class = ''): string
            => "<div class=\"tile $class\"><h3>$title</h3><p class=\"value\">$value</p><p>$more</p></div>";
        return $tile('Granted', $this->rate('granted', $granted) . '<small>/s <span data-period>on average</span></small>', number_format($granted) . ' since the start', 'granted')
            . $tile('Denied', $this->rate('denied', $denied) . '<small>/s <span data-period>on average</span></small>', number_format($denied) . ' since the start', 'denied')
            . $tile('Denied share', '<span data-share>' . percent($denied, $granted + $denied) . '</span> <small data-period>on average</small>', percent($denied, $granted + $denied) . ' since the start')
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
        return '<p>Calls sent to stores: ' . number_format($remote['asked']) . ' (' . $this->pace('remote asked', $remote['asked']) . '), failed: '
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
            $key = md5("$row[store] $row[namespace]");
            return [
                self::name($row),
                $this->rate("$key granted", $granted),
                $this->rate("$key denied", $denied),
                number_format($granted),
                number_format($denied),
                percent($denied, $granted + $denied),
                number_format($row['denied_by_denial_cache']),
                number_format($row['granted_by_fallback'] + $row['denied_by_fallback']),
            ];
        }, $namespaces);
        $period = '<span data-period>on average</span>';
        return self::table(['Namespace', "#Granted/s $period", "#Denied/s $period", '#Granted', '#Denied', '#Denied share', '#Denied by cache', '#Decided by fallback'], $rows);
    }

    /** Returns the limits of the guard. */
    private function guard(): string
    {
        $limits = array_filter($this->status['decisions'], fn (array $row): bool => isset($row['clients_denied_today']));
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
        $bar = '';
        $x = 0;
        $rows = [];
        foreach ($states as $state => $meaning) {
            $width = 100 * $memory[$state] / max(1, $memory['slots']);
            $bar .= sprintf('<rect class="%s" x="%F" width="%F" height="1"/>', $state, $x, $width);
            $x += $width;
            $rows[] = ["<i class=\"swatch $state\"></i> $state <small>$meaning</small>", number_format($memory[$state]), percent($memory[$state], $memory['slots'])];
        }
        $where = $memory['backing'] === 'named' ? 'Shared file <code>' . text($memory['path']) . '</code>' : 'Private memory (' . text($memory['backing']) . ')';
        $longest = $memory['evicted'] > 0 ? ', which needed up to ' . duration($memory['evicted_seconds_max']) . ' to be full' : '';
        return "<p>$where of " . number_format($memory['size'] / 1048576, 1) . '&nbsp;MB. '
            . 'Evicted: ' . number_format($memory['evicted']) . " buckets$longest. "
            . 'Refused: ' . number_format($memory['refused']) . ' calls. '
            . 'Permits held: ' . number_format($this->status['permits']['held']) . '. '
            . $this->force()
            . ($memory['full'] === 'evict' ? 'A full table evicts the fullest bucket.' : 'A full table denies new buckets.') . '</p>'
            . "<svg class=\"bar\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">$bar</svg>"
            . self::table(['State', '#Slots', '#Share'], $rows);
    }

    private function force(): string
    {
        $guard = $this->status['guard'];
        return $guard['in_force'] ? 'The guard is in force. ' : ($guard['reason'] === null ? '' : 'The guard is not in force: ' . text($guard['reason']) . '. ');
    }

    private function settings(): string
    {
        $rows = [];
        foreach (ini_get_all('tokenbucket') as $name => ['local_value' => $value]) {
            $value = (string) $value;
            $default = DEFAULTS[$name] ?? null;
            $differs = $default !== null && !self::is_equal($name, $value, $default);
            $show = fn (?string $of): string => (string) $of === '' ? '<i>empty</i>' : '<code>' . text($of) . '</code>';
            $rows[$differs ? "0$name" : "1$name"] = [
                '<code>' . text($name) . '</code>',
                $differs ? '<b class="changed">' . $show($value) . '</b>' : $show($value),
                $default === null ? '–' : $show($default) . ($differs ? ' <b class="changed">differs</b>' : ''),
            ];
        }
        // Lists changed settings before all others.
        ksort($rows);
        return self::table(['Setting', 'Value', 'Default'], array_values($rows));
    }

    /** Reports whether two values of a setting have the same meaning. */
    private static function is_equal(string $name, string $value, string $default): bool
    {
        return match ($name) {
            'tokenbucket.shm_size' => @ini_parse_quantity($value) === ini_parse_quantity($default),
            'tokenbucket.track_identifiers' => !self::tracks(),
            default => $value === $default,
        };
    }

    private function counters(): string
    {
        $rows = [];
        foreach (['shared_memory' => $this->memory, 'permits' => $this->status['permits'], 'remote' => $this->status['remote']] as $part => $counters) {
            foreach (array_filter($counters, is_int(...)) as $name => $count) {
                if (!in_array($name, ['size', 'slots', 'live', 'reclaimable', 'pending', 'empty', 'held'], true)) {
                    $rows[] = ["<code>$part.$name</code>", $this->rate("$part $name", $count), number_format($count)];
                }
            }
        }
        return self::table(['Counter', '#Per second <span data-period>on average</span>', '#Since the start'], $rows);
    }

    /**
     * Returns a table. A # in front of a column's title aligns its numbers. On narrow screens, each
     * row of a table with many columns becomes a card.
     *
     * @param list<string> $titles as HTML
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
                $label = trim(strip_tags(preg_replace('~<span data-period>.*?</span>~', '', ltrim($titles[$column], '#'))));
                $html .= $column === 0 ? "<th scope=\"row\">$cell</th>" : "<td{$class($column)} data-title=\"$label\">$cell</td>";
            }
            $html .= '</tr>';
        }
        $class = count($titles) > 4 ? ' class="cards"' : '';
        return "<div class=\"wide\"><table$class>$html</tbody></table></div>";
    }
}

/**
 * The form with which an operator shows, frees or blocks a client of the guard.
 *
 * The extension checks the password of the form, counts wrong ones, and writes a record of each
 * change.
 */
final class ClientForm
{
    /** The status of the reply. */
    public readonly int $status;
    /** A sentence as HTML. */
    private readonly string $result;
    private readonly string $token;

    /**
     * @param list<array> $decisions of status()
     * @param array $sent the fields, or an empty array for the form itself
     */
    public function __construct(private readonly array $decisions, private readonly array $sent, array $cookies, bool $is_https)
    {
        $cookie = $is_https ? '__Host-tokenbucket' : 'tokenbucket';
        $token = $cookies[$cookie] ?? null;
        $is_known = is_string($token) && preg_match('/^[0-9a-f]{32}$/D', $token) === 1;
        $this->token = $is_known ? $token : bin2hex(random_bytes(16));
        if (!$is_known) {
            setcookie($cookie, $this->token, ['path' => '/', 'secure' => $is_https, 'httponly' => true, 'samesite' => 'Strict']);
        }
        [$this->status, $this->result] = $sent === [] ? [200, ''] : $this->reply();
    }

    /** Reports whether the extension knows a password, without which no operator may act. */
    public static function is_allowed(): bool
    {
        return (string) ini_get('tokenbucket.guard_password_hash') !== '';
    }

    private function field(string $name): string
    {
        return is_string($this->sent[$name] ?? null) ? $this->sent[$name] : '';
    }

    private function reply(): array
    {
        // This check comes first, so that the form of another site uses up no attempt of the
        // operator.
        if (!hash_equals($this->token, $this->field('token'))) {
            return [403, 'This form has expired, so nothing was done. Send it again.'];
        }
        try {
            $client = new \TokenBucket\GuardedClient($this->field('limit'), [$this->field('client')], $this->field('password'));
            return [200, text((string) $client->client) . ' ' . $this->act($client)];
        } catch (\TokenBucket\AccessDeniedException $denied) {
            return [403, text($denied->getMessage()) . '.'];
        } catch (\ValueError $error) {
            return [400, text(preg_replace('/^.*\$(limit|values|seconds)\)/', 'The field', $error->getMessage())) . '.'];
        }
    }

    private function act(\TokenBucket\GuardedClient $client): string
    {
        if ($this->field('action') === 'reset') {
            $client->reset();
            return 'is free.';
        }
        $seconds = is_numeric($this->field('seconds')) ? (float) $this->field('seconds') : -1.0;
        $decision = $this->field('action') === 'block' ? $client->block($seconds) : $client->peek();
        return match (true) {
            $decision->reason === 'table_full' => 'is not blocked, because the table is full.',
            $decision->allowed => 'has ' . number_format(floor($decision->remaining)) . ' requests left.',
            default => 'is denied for ' . duration($decision->retryAfter) . '.',
        };
    }

    public function html(): string
    {
        $names = array_column(array_filter($this->decisions, fn (array $row): bool => $row['store'] === 'shared_memory'), 'namespace');
        // Only limits by address, because other keys would need more fields in the form.
        $limits = preg_grep('/^guard: (preflights: )?(on (\S+ )?\S+ )?ip \d/', array_map(strval(...), $names));
        $option = fn (string $limit): string => '<option' . ($limit === $this->field('limit') ? ' selected' : '') . '>' . text($limit) . '</option>';
        $class = $this->status === 200 ? 'good' : 'bad';
        $result = $this->result === '' ? '' : "<p role=\"status\"><b class=\"$class\">$this->result</b></p>";
        if ($limits === []) {
            return '<p class="empty">No limit of the guard whose only key is <code>ip</code> has counted a request.</p>';
        }
        return $result . '<form method="post">'
            . "<input type=\"hidden\" name=\"token\" value=\"$this->token\">"
            . '<label>Limit <select name="limit">' . implode('', array_map($option, $limits)) . '</select></label>'
            . '<label>Client <input name="client" required autocomplete="off" placeholder="192.0.2.1" value="' . text($this->field('client')) . '"></label>'
            . '<label>Password <input name="password" type="password" required autocomplete="current-password"></label>'
            . '<p><button name="action" value="peek">Show</button> <button name="action" value="reset">Free</button> '
            . '<button name="action" value="block">Block</button> for <input name="seconds" type="number" min="1" value="900" aria-label="Seconds of a block"> s</p></form>';
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
$sample = (new Snapshot($status))->sample();
if (isset($_GET['json'])) {
    header('Content-Type: application/json');
    exit(json_encode($sample, JSON_THROW_ON_ERROR));
}
$is_allowed = ClientForm::is_allowed();
$is_https = !in_array(strtolower($_SERVER['HTTPS'] ?? ''), ['', 'off'], true);
$form = isset($_GET['client']) && $is_allowed ? new ClientForm($status['decisions'], $_POST, $_COOKIE, $is_https) : null;
$form_action = $form === null ? 'none' : 'self';
http_response_code($form?->status ?? 200);
$nonce = base64_encode(random_bytes(18));
header('Content-Type: text/html; charset=utf-8');
header("Content-Security-Policy: default-src 'none'; style-src 'nonce-$nonce'; script-src 'nonce-$nonce'; connect-src 'self'; img-src data:; base-uri 'none'; form-action '$form_action'; frame-ancestors 'none'");
header('Referrer-Policy: no-referrer');
$section = fn (string $name): string => "<div id=\"$name\">{$sample['sections'][$name]}</div>";
?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title><?= text($sample['title']) ?></title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Cpath d='M1 1h6L6 7H2z' fill='%230b6bcb'/%3E%3C/svg%3E">
<?= $form === null ? '<noscript><meta http-equiv="refresh" content="' . max(5, INTERVAL) . '"></noscript>' : '' ?>

<style nonce="<?= $nonce ?>">
:root {
    --page: #f5f6f8; --card: #fff; --line: #dce0e6; --text: #1a1f26; --muted: #59636e;
    --granted: #0b63c1; --denied: #bc4c00; --problem: #b42318; --warning: #8a5300; --good: #1a7037;
    --soft-problem: #fdecea; --soft-warning: #fdf3dc; --empty: #e4e8ed;
}
@media (prefers-color-scheme: dark) {
    :root {
        --page: #0e1217; --card: #161b22; --line: #2c333c; --text: #e6eaef; --muted: #9aa5b1;
        --granted: #6cb2ff; --denied: #ff9d5c; --problem: #ff8b80; --warning: #f0b849; --good: #56c271;
        --soft-problem: #3a1a1a; --soft-warning: #33280f; --empty: #2a313a;
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
button { font: inherit; font-size: .85rem; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .2rem .8rem; cursor: pointer; }
a { color: var(--granted); }
form label { display: block; margin-bottom: .6rem; }
form label > * { display: block; width: 100%; }
select, input { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line); border-radius: 6px; padding: .2rem .5rem; }
input[type=number] { width: 7rem; }
:focus-visible { outline: 2px solid var(--granted); outline-offset: 2px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; }
.card p { margin-bottom: .6rem; color: var(--muted); }
.card p.empty { margin: 0; }
.lost { background: var(--soft-problem); color: var(--problem); border-radius: 8px; padding: .6rem 1rem; }
ul { list-style: none; padding: 0; display: grid; gap: .35rem; }
li { display: flex; gap: .75rem; padding: .45rem .75rem; border-radius: 6px; border-left: 4px solid; }
li b { flex: 0 0 4.6rem; }
.note { padding: 0; border: 0; }
#warnings .problem { border-color: var(--problem); background: var(--soft-problem); }
#warnings .problem b, .bad { color: var(--problem); }
#warnings .warning { border-color: var(--warning); background: var(--soft-warning); }
#warnings .warning b, .changed { color: var(--warning); }
.good { color: var(--good); }
.pace, .store { white-space: nowrap; }
.pace.rising { font-weight: 600; color: var(--problem); }
#now { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1rem; }
.tile .value { font-size: 1.9rem; font-weight: 600; line-height: 1.2; color: var(--text); margin: 0; }
.tile p { margin: 0; font-size: .85rem; }
.granted .value { color: var(--granted); }
.denied .value { color: var(--denied); }
#chart { display: block; width: 100%; height: 190px; margin-top: 1rem; font-size: 12px; }
#chart text { fill: var(--muted); }
#chart .grid { stroke: var(--line); }
#chart path { fill: none; stroke-width: 2; stroke-linejoin: round; }
#chart .granted { stroke: var(--granted); }
#chart .denied { stroke: var(--denied); stroke-dasharray: 5 3; }
#chart text.granted { fill: var(--granted); stroke: none; }
#chart text.denied { fill: var(--denied); stroke: none; }
.bar { display: block; width: 100%; height: 14px; border-radius: 4px; margin-bottom: .75rem; }
rect.live, .swatch.live { fill: var(--granted); background: var(--granted); }
rect.pending, .swatch.pending { fill: var(--denied); background: var(--denied); }
rect.reclaimable, .swatch.reclaimable { fill: var(--muted); background: var(--muted); }
rect.empty, .swatch.empty { fill: var(--empty); background: var(--empty); }
.swatch { display: inline-block; width: .7em; height: .7em; border-radius: 2px; }
table { width: 100%; border-collapse: collapse; font-size: .88rem; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; vertical-align: top; border-top: 1px solid var(--line); }
thead th { color: var(--muted); font-weight: 600; border: 0; vertical-align: bottom; }
tbody th { font-weight: 400; }
.number { text-align: right; white-space: nowrap; }
thead .number { white-space: normal; }
.number + :not(.number) { padding-left: 1rem; }
summary { cursor: pointer; font-weight: 600; }
details[open] summary { margin-bottom: .6rem; }
[hidden] { display: none !important; }
.columns { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 64rem) {
    .columns { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); grid-template-rows: auto 1fr; }
    .columns > :first-child { grid-row: 1 / 3; }
}
@media (max-width: 46rem) {
    .cards thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
    .cards tr { display: block; border-top: 1px solid var(--line); padding: .5rem 0; }
    .cards th, .cards td { display: block; border: 0; padding: .1rem 0; }
    .cards td { text-align: right; overflow: hidden; }
    .cards td::before { content: attr(data-title); color: var(--muted); float: left; padding-right: 1rem; }
    li { display: block; }
    #now { grid-template-columns: 1fr 1fr; }
    .tile .value { font-size: 1.5rem; }
    .tile .value small { display: block; }
}
</style>
</head>
<body>
<main>
<header class="top"><h1>tokenbucket</h1><?= $section('header') ?><button id="pause" type="button" aria-pressed="false" hidden>Pause</button></header>
<?php if ($form !== null): ?>
<section class="card"><h2>Clients of the guard</h2><?= $form->html() ?><p><a href="?">Back to the status</a></p></section>
</main>
</body>
</html>
<?php exit; endif ?>
<p id="lost" class="lost" role="alert" hidden></p>
<section class="card" aria-label="Warnings"><?= $section('warnings') ?></section>
<section class="card" aria-label="Decisions"><?= $section('now') ?><svg id="chart" role="img" aria-label="" hidden></svg></section>
<section class="card"><h2>Decisions by namespace</h2><?= $section('namespaces') ?></section>
<section class="card"><h2>Remote stores</h2><?= $section('stores') ?></section>
<section class="card"><h2>Limits of the guard</h2><?= $section('guard') ?><?= $is_allowed ? '<p><a href="?client">Free or block a client</a></p>' : '' ?></section>
<section class="card"><h2>Notes</h2><?= $section('notes') ?></section>
<div class="columns">
<section class="card"><h2>Most denied</h2><?= $section('identifiers') ?></section>
<section class="card"><h2>Memory</h2><?= $section('memory') ?></section>
<section class="card"><h2>Settings</h2><?= $section('settings') ?></section>
</div>
<details class="card"><summary>All counters</summary><?= $section('counters') ?></details>
</main>
<script nonce="<?= $nonce ?>">
'use strict';
const interval = <?= (int) (1000 * INTERVAL) ?>, kept = 120;
const $ = id => document.getElementById(id);
// A URL that contains a password cannot be fetched, so only its path is used.
const url = location.origin + location.pathname + '?json';
let shown = <?= json_encode(['sections' => (object) []] + $sample, JSON_HEX_TAG | JSON_THROW_ON_ERROR) ?>, last, samples = [], timer;

const format = (n, digits) => n.toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
const rate = n => format(n, n >= 100 || n === 0 ? 0 : n >= 10 ? 1 : 2);

function read() {
    const sample = {host: shown.host, age: shown.age, counts: {}};
    for (const e of document.querySelectorAll('[data-rate]')) sample.counts[e.dataset.rate] = +e.dataset.count;
    return sample;
}

// Replaces the averages since the start by the rates since the last sample.
function show_rates(now) {
    const seconds = now.age - last.age;
    const per_second = key => ((now.counts[key] ?? 0) - (last.counts[key] ?? 0)) / seconds;
    for (const e of document.querySelectorAll('[data-rate]')) {
        e.textContent = rate(per_second(e.dataset.rate));
        e.closest('#warnings .pace')?.classList.toggle('rising', per_second(e.dataset.rate) > 0);
    }
    for (const e of document.querySelectorAll('[data-period]')) e.textContent = 'now';
    const granted = per_second('granted'), denied = per_second('denied');
    document.querySelector('[data-share]').textContent = format(granted + denied > 0 ? 100 * denied / (granted + denied) : 0, 1) + '\u00a0%';
    samples = [...samples, {age: now.age, granted, denied}].slice(-kept);
    draw();
}

function add(parent, name, attributes, text = '') {
    const e = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    e.textContent = text;
    parent.append(e);
}

// Draws the rates of the last minutes. The newest are at the right.
function draw() {
    const svg = $('chart'), end = samples.at(-1);
    const span = Math.min(kept * interval / 1000, 60 * Math.max(1, Math.ceil((end.age - samples[0].age) / 60)));
    const tick = span > 120 ? 60 : 15;
    svg.removeAttribute('hidden');
    svg.replaceChildren();
    const width = svg.clientWidth, height = svg.clientHeight, left = 46, right = width - 78, top = 12, bottom = height - 24;
    const highest = Math.max(1, ...samples.flatMap(h => [h.granted, h.denied]));
    const power = 10 ** Math.floor(Math.log10(highest));
    const step = [.25, .5, 1, 2.5].map(n => n * power).find(n => highest <= 4 * n);
    const limit = step * Math.ceil(highest / step);
    const x = age => right - (end.age - age) / span * (right - left), y = n => bottom - n / limit * (bottom - top);
    for (let n = 0; n <= limit; n += step) {
        add(svg, 'line', {class: 'grid', x1: left, x2: right, y1: y(n), y2: y(n)});
        add(svg, 'text', {x: left - 6, y: y(n) + 4, 'text-anchor': 'end'}, format(n, Number.isInteger(n) ? 0 : 2));
    }
    for (let s = 0; s <= span; s += tick) {
        const ago = tick === 60 ? `${s / 60} min ago` : `${s} s ago`;
        add(svg, 'text', {x: x(end.age - s), y: height - 6, 'text-anchor': 'middle'}, s === 0 ? 'now' : ago);
    }
    const ends = {granted: y(end.granted), denied: y(end.denied)};
    // The labels of the two lines must not overlap.
    const gap = Math.max(0, 14 - Math.abs(ends.granted - ends.denied)) / 2, sign = ends.denied > ends.granted ? 1 : -1;
    for (const of of ['granted', 'denied']) {
        add(svg, 'path', {class: of, d: 'M' + samples.map(h => `${x(h.age).toFixed(1)} ${y(h[of]).toFixed(1)}`).join('L')});
        add(svg, 'text', {class: of, x: right + 6, y: ends[of] + 4 + gap * (of === 'denied' ? sign : -sign)}, of);
    }
    svg.setAttribute('aria-label', `Calls per second in the last minutes. Now: ${rate(end.granted)} granted, ${rate(end.denied)} denied. `
        + `Highest: ${rate(Math.max(...samples.map(h => h.granted)))} granted, ${rate(Math.max(...samples.map(h => h.denied)))} denied.`);
}

function update(sample) {
    // Unchanged sections stay, so that a selection in them stays, too.
    for (const [id, html] of Object.entries(sample.sections)) {
        if (html !== shown.sections[id]) $(id).innerHTML = html;
    }
    shown = sample;
    document.title = sample.title;
    const now = read();
    // Another host, or new memory: the counters cannot be compared.
    if (now.host !== last.host || now.age <= last.age) samples = [];
    else show_rates(now);
    last = now;
}

async function refresh() {
    try {
        const reply = await fetch(url, {cache: 'no-store', signal: AbortSignal.timeout(10000)});
        if (!reply.ok) throw new Error(`the reply is ${reply.status}`);
        update(await reply.json());
        $('lost').hidden = true;
    } catch (error) {
        $('lost').textContent = `No update: ${error.message}. The values below are old.`;
        $('lost').hidden = false;
    }
    schedule();
}

function schedule() {
    clearTimeout(timer);
    if ($('pause').ariaPressed !== 'true' && !document.hidden) timer = setTimeout(refresh, interval);
}

$('pause').hidden = false;
$('pause').addEventListener('click', () => {
    $('pause').ariaPressed = String($('pause').ariaPressed !== 'true');
    $('pause').textContent = $('pause').ariaPressed === 'true' ? 'Continue' : 'Pause';
    schedule();
});
document.addEventListener('visibilitychange', schedule);
last = read();
schedule();
</script>
</body>
</html>
