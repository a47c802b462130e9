<?php
/**
 * Creates the objects of the extension with random options and calls their methods. The seed
 * determines the options.
 *
 * Each attempt must create an object or throw a documented exception. No connection succeeds,
 * because nothing listens at the addresses in the options.
 */
require_once __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\OnFailure;

const PASSWORD = 'geheim0123456789';

/** A Redis client whose methods return the result of $answer. */
class AnyRedis
{
    public function __construct(private Closure $answer) {}
    public function isConnected() { return ($this->answer)('isConnected'); }
    public function getHost() { return ($this->answer)('getHost'); }
    public function getPort() { return ($this->answer)('getPort'); }
    public function getAuth() { return ($this->answer)('getAuth'); }
    public function getDBNum() { return ($this->answer)('getDBNum'); }
    public function getOption($option) { return ($this->answer)('getOption'); }
}

if (class_exists('Memcached', false)) {
    /** A memcached client whose methods return the result of $answer. */
    class AnyMemcached extends Memcached
    {
        public ?Closure $answer = null;
        public function getServerList(): array { return ($this->answer)('getServerList'); }
        public function getServerByKey(string $server_key): array|false { return ($this->answer)('getServerByKey'); }
        public function getOption(int $option): mixed { return ($this->answer)('getOption'); }
    }
}

final class Text
{
    public function __construct(private string|Throwable $text) {}
    public function __toString(): string { return is_string($this->text) ? $this->text : throw $this->text; }
}

final class AnyOptions
{
    private const HOSTS = ['h', 'LOCALHOST', '127.0.0.1', '::1', '[::1]', '[::ffff:1.2.3.4]', '[::1', '[]', '', '.', '-', "h\n", "h\0", 'ü', "\xff", '1.2.3.4.5', 'a b', 'a,b', '@', '%41'];
    private const PORTS = ['', ':', ':0', ':1', ':65535', ':65536', ':-1', ':+1', ':x', ':1:1', ':18446744073709551617'];
    private const PATHS = ['/nowhere', '/', '//', '/nowhere/', '/a,b', '/a?b', "/a\0b", '/..', 'nowhere', '/%', '/%00', '/ '];

    public int $made = 0;
    public int $thrown = 0;
    /** @var array<string, true> */
    public array $classes = [];

    public static function any(array $values): mixed
    {
        return $values[mt_rand(0, count($values) - 1)];
    }

    private static function few(array $values): array
    {
        return array_map(fn () => self::any($values), array_fill(0, mt_rand(0, 4), null));
    }

    /** Returns a value that is usually invalid. */
    private static function odd(int $depth = 0): mixed
    {
        return match (mt_rand(0, $depth > 3 ? 5 : 9)) {
            0 => self::any([null, true, false, 0, -1, 1, 2, 65536, PHP_INT_MAX, PHP_INT_MIN]),
            1 => self::any([0.0, -0.0, 0.5, 1e-9, 3600.0, 3600.1, 1e300, 1e-320, NAN, INF, -INF]),
            2, 3 => self::any(['', '0', '1', '1.5', ' 1 ', '1e3', 'x', "\0", "\xff", 'h:1', 'rediss://h', str_repeat('h', 5000)]),
            4 => self::any([new stdClass, fn () => 1, OnFailure::Deny, OnFailure::Local, STDIN]),
            5 => new Text(self::any(['h', '', '2', new LogicException('thrown by a text')])),
            6 => [self::odd($depth + 1)],
            7 => ['host' => self::odd($depth + 1), 'port' => self::odd($depth + 1), 'weight' => self::odd($depth + 1)],
            8 => [self::odd($depth + 1), 'x' => self::odd($depth + 1), 7 => self::odd($depth + 1)],
            9 => self::tangled(),
        };
    }

    /** Returns an array that contains references, sometimes to the array itself. */
    private static function tangled(): array
    {
        $text = self::any(['127.0.0.1:1', 'h', '']);
        $list = ['h:2', &$text];
        if (mt_rand(0, 1)) {
            $list[] = &$list;
        }
        return $list;
    }

    private static function server(): mixed
    {
        if (mt_rand(0, 9) === 0) {
            return self::odd();
        }
        $address = mt_rand(0, 4) ? self::any(self::HOSTS) . self::any(self::PORTS) : self::any(['unix://', 'unix:', '']) . self::any(self::PATHS);
        return $address . self::any(['', '', '', '?weight=2', '?weight=0', '?weight=', '?weight=65536', '?WEIGHT=1', '?', '?weight=1&weight=2']);
    }

    private static function servers(): mixed
    {
        $list = array_map(fn () => self::server(), array_fill(0, mt_rand(0, 3), null));
        return match (mt_rand(0, 9)) {
            0 => self::odd(),
            1 => implode(self::any([',', ' , ', ',,', ';']), array_filter($list, is_string(...))),
            2 => [$list],
            3 => array_combine(array_map(fn ($n) => "k$n", array_keys($list)), $list),
            4 => self::tangled(),
            5 => ["10.0.0.1:" . mt_rand(1, 70_000), '10.0.0.2?weight=' . mt_rand(-1, 100)],
            6 => array_map(fn ($n) => "10.0.0.$n", range(1, mt_rand(1, 60))),
            7 => '127.0.0.1:1',
            default => $list,
        };
    }

    private static function dsn(): mixed
    {
        if (mt_rand(0, 9) === 0) {
            return self::odd();
        }
        $password = self::any([PASSWORD, rawurlencode(PASSWORD . '/@'), PASSWORD . '@', PASSWORD . '#', PASSWORD . '%', PASSWORD . "\0", PASSWORD . "\xff", PASSWORD . '?']);
        if (mt_rand(0, 3) === 0) {
            $options = self::few(['db=0', 'db=-1', 'db=99999999999', 'db', "password=$password", "passwd=$password", 'user=u', 'user=', '=', 'password[]=1', "cafile=/$password"]);
            return self::any(['unix://', 'redis+unix://', 'unix:', '']) . self::any(self::PATHS) . ($options ? '?' : '') . implode('&', $options);
        }
        return self::any(['redis://', 'rediss://', 'REDIS://', 'redis:', 'http://', '']) . self::any(["user:$password@", ":$password@", "$password@", ':@', '@', '']) . self::any(self::HOSTS)
            . self::any(self::PORTS) . self::any(['', '', '/', '/0', '/15', '/x', '/-1', '/99999999999', "/$password"]) . self::any(['', '', '', "?password=$password", '?cafile=/nowhere', '?cafile=x&servername=h', '?servername=']);
    }

    /** Returns constructor settings by name or by position. Some values are invalid. */
    private static function settings(bool $timed): array
    {
        $odd = fn (array $fitting) => mt_rand(0, 3) ? self::any($fitting) : self::odd();
        $settings = $timed ? ['prefix' => $odd(['', 'p:', "\0\xff", str_repeat('p', 300)]), 'timeout' => $odd([0.001, '0.001', 0.002])] : [];
        $settings += ['onFailure' => $odd(OnFailure::cases()), 'denialCache' => $odd([true, false, 1, '']), 'denialCacheMaxAge' => $odd([0, 0.5, 3600])];
        $settings += mt_rand(0, 7) ? [] : ['takeAhead' => $odd([0, 0, 0.5, 1])];
        return match (mt_rand(0, 5)) {
            0 => [],
            1 => array_values($settings),
            2 => array_slice($settings, mt_rand(0, 4)),
            3 => $settings + [self::any(['retries', 'Timeout', "pass\0word", '']) => 1],
            default => $settings,
        };
    }

    private static function redis(): object
    {
        $answers = [
            'isConnected' => fn () => mt_rand(0, 9) ? true : self::odd(),
            'getHost' => fn () => mt_rand(0, 9) ? self::any(['', 'tls://', 'tcp://', 'ssl://', 'udp://']) . self::any(self::HOSTS) : self::any([...self::PATHS, self::odd()]),
            'getPort' => fn () => mt_rand(0, 4) ? 1 : self::odd(),
            'getAuth' => fn () => self::any([null, false, PASSWORD, [PASSWORD], ['u', PASSWORD], ['user' => 'u', 'pass' => PASSWORD], [[PASSWORD]], ['a', 'b', PASSWORD], [null, PASSWORD], ["\xff" . PASSWORD], self::odd()]),
            'getDBNum' => fn () => mt_rand(0, 4) ? 0 : self::odd(),
            'getOption' => fn () => mt_rand(0, 1) ? 'app:' : self::odd(),
        ];
        return new AnyRedis(fn (string $method) => $answers[$method]());
    }

    private static function memcached(): mixed
    {
        if (!class_exists('AnyMemcached', false)) {
            return self::odd();
        }
        $row = fn () => mt_rand(0, 5) ? ['host' => self::any([...self::HOSTS, ...self::PATHS]), 'port' => mt_rand(0, 5) ? mt_rand(-1, 70_000) : self::odd(), 'type' => 'TCP'] : self::odd();
        $answers = [
            'getServerList' => fn () => mt_rand(0, 5) ? array_map($row, array_fill(0, mt_rand(0, 4), null)) : self::odd(),
            'getServerByKey' => fn () => mt_rand(0, 1) ? $row() : self::odd(),
            'getOption' => fn () => mt_rand(0, 2) ? self::any(['', 'app:', 0, 1]) : self::odd(),
        ];
        $client = new AnyMemcached;
        $client->answer = fn (string $method) => $answers[$method]();
        return $client;
    }

    private static function table(): string
    {
        $parts = ['limits', 'main.limits', 'a', '"', '`', "'", '; DROP TABLE canary; --', '.', '..', "\0", "\xff", ' ', '$', '-', '?', ':now', 'x]', 'select', str_repeat('t', 65)];
        return implode(mt_rand(0, 3) ? '' : '.', self::few($parts));
    }

    /** Creates an object with random options, calls its methods and returns the object. */
    private static function make(?PDO $db): object
    {
        switch (mt_rand(0, 6)) {
            case 0:
            case 1:
                $made = new TokenBucketStorageRedis(self::dsn(), ...self::settings(true));
                break;
            case 2:
            case 3:
                $made = new TokenBucketStorageMemcached(self::servers(), ...self::settings(true));
                break;
            case 4:
                $made = TokenBucketStorageRedis::fromClient(mt_rand(0, 9) ? self::redis() : self::odd(), ...self::settings(true));
                break;
            case 5:
                $made = TokenBucketStorageMemcached::fromClient(mt_rand(0, 9) ? self::memcached() : self::odd(), ...self::settings(true));
                break;
            case 6:
                $made = new TokenBucketStoragePDO(mt_rand(0, 9) ? $db : self::odd(), mt_rand(0, 9) ? self::table() : self::odd(), ...self::settings(false));
                $made->prepare();
                break;
        }
        // Calls the bucket only if the pattern matches all addresses, because such addresses refuse
        // connections at once: a timeout may be an hour. Skips host names, because the timeout does
        // not cover DNS lookups.
        preg_match('/\[servers?:.*\] => (.*)/', print_r($made, true), $servers);
        if (preg_match('#^((unix://|redis://127|127\.)[^,]*(,|$))*$#', $servers[1] ?? '')) {
            (new TokenBucket($made, 'any', 3, 1))->attempt();
        }
        return $made;
    }

    public function run(int $rounds): void
    {
        $db = extension_loaded('pdo_sqlite') ? new PDO('sqlite::memory:') : null;
        $db?->exec('CREATE TABLE canary (n)');
        for ($i = 0; $i < $rounds; $i++) {
            $told = '';
            try {
                $made = self::make($db);
                $this->made++;
                $this->classes[$made::class] = true;
                $told = print_r($made instanceof TokenBucketStorage ? $made : null, true);
            } catch (Throwable $e) {
                $this->thrown++;
                $is_ours = $e instanceof TypeError || $e instanceof ValueError || $e instanceof TokenBucket\Exception || $e->getMessage() === 'thrown by a text'
                    || ($e instanceof LogicException && str_starts_with($e->getMessage(), '$takeAhead'));
                $is_ours = $is_ours || preg_match('/^Unknown named parameter \$|^Named parameter \$\w+ overwrites/', $e->getMessage());
                check((bool) $is_ours, get_class($e) . ': ' . $e->getMessage());
                $told = $e->getMessage();
                foreach ($e->getTrace() as $frame) {
                    // Checks only the DSN in the frame of the constructor, because frames of the
                    // test's own functions may contain the password.
                    $is_dsn = ($frame['class'] ?? '') === 'TokenBucketStorageRedis' && $frame['function'] === '__construct';
                    $told .= $is_dsn ? print_r($frame['args'][0] ?? null, true) : '';
                }
            }
            check(!str_contains($told, PASSWORD), "shown: $told");
        }
        check($db === null || (int) $db->query("SELECT COUNT(*) FROM sqlite_master WHERE name = 'canary'")->fetchColumn() === 1, 'no name of a table does anything');
    }
}

/** Makes $rounds attempts, which must create each class in $classes at least once. */
function any_options(int $seed, int $rounds, string ...$classes): void
{
    // Accepts the extension's warnings about failures and the PHP messages below.
    set_error_handler(function (int $level, string $message): bool {
        // PHP itself deprecates null and fractional numbers as arguments.
        if ($level === E_DEPRECATED && preg_match('/Passing null to parameter|^Implicit conversion from float/', $message)) {
            return true;
        }
        // PHP warns about NAN since version 8.5.
        if ($level === E_WARNING && str_starts_with($message, 'unexpected NAN value was coerced')) {
            return true;
        }
        $is_ours = $level === E_WARNING && preg_match('/; (using shared memory of this host|allowing all calls|denying all calls)/', $message);
        check($is_ours && !str_contains($message, PASSWORD), "$level: $message");
        return true;
    });
    mt_srand($seed);
    $any = new AnyOptions;
    $any->run(is_slow() ? intdiv($rounds, 6) : $rounds);
    check(!str_contains(print_r(TokenBucket\status(), true), PASSWORD), 'status() shows a password');
    if (!is_slow()) {
        check($any->made > $rounds / 20 && $any->thrown > $rounds / 20, "both come about: $any->made, $any->thrown");
        check(array_diff($classes, array_keys($any->classes)) === [], 'each comes about: ' . implode(' ', array_keys($any->classes)));
    }
    echo "done\n";
}
