<?php
require_once __DIR__ . '/check.php';
require_once __DIR__ . '/fast_cgi.php';
require_once __DIR__ . '/processes.php';
require_once __DIR__ . '/wait_for.php';

/**
 * A php-fpm that belongs to the test and uses the settings of the php that runs the test.
 *
 * Its configuration, scripts, sockets and logs are in one folder. Both php-fpm and the folder are
 * removed when the test ends. If root starts php-fpm, the workers run as another user, as usual.
 */
final class Fpm
{
    /** The seconds within which php-fpm must react. */
    private const PATIENCE = 60;

    public readonly string $folder;
    private readonly int $owner;
    /** The number of scripts that were written. */
    private int $written = 0;
    /** @var ?resource the started process: the master, or the process that creates the daemon */
    private $process;

    /**
     * @param array<string, array<string, string|int>> $pools directives by pool, added to four
     * static workers
     * @param array<string, string> $ini settings, added to those of the test
     * @param ?string $arguments arguments of php, instead of those of the test
     */
    public function __construct(
        private array $pools = ['www' => []],
        array $ini = [],
        bool $daemon = false,
        string $working_folder = '.',
        ?string $arguments = null,
    ) {
        take_places(2);
        $this->owner = getmypid();
        $this->folder = sys_get_temp_dir() . "/tokenbucket-fpm-$this->owner-" . bin2hex(random_bytes(4));
        mkdir($this->folder);
        // Lets workers of another user open the folder, whatever the umask is.
        chmod($this->folder, 0755);
        register_shutdown_function($this->remove(...));
        file_put_contents("$this->folder/fpm.conf", $this->configuration());
        $this->start($arguments ?? (getenv('TEST_PHP_EXTRA_ARGS') ?: '-n'), $ini, $daemon, $working_folder);
    }

    /** Returns the path of the php-fpm that belongs to this php, or null. */
    public static function binary(): ?string
    {
        $own = dirname(getenv('TEST_PHP_EXECUTABLE') ?: PHP_BINARY);
        $folders = [$own, ...explode(':', (string) getenv('PATH')), dirname(PHP_BINDIR) . '/sbin', '/usr/sbin'];
        foreach (['php-fpm' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION, 'php-fpm'] as $name) {
            foreach ($folders as $folder) {
                if (is_executable("$folder/$name")) {
                    return "$folder/$name";
                }
            }
        }
        return null;
    }

    /** Adds a script that the workers can run, and returns its path. */
    public function script(string $name, string $code): string
    {
        $path = "$this->folder/$name.php";
        file_put_contents($path, $code);
        // The opcache compares times in whole seconds, and would keep a script that is replaced
        // within one.
        touch($path, ++$this->written);
        chmod($path, 0644);
        return $path;
    }

    /** Returns the output of the script, or null if its worker died. */
    public function get(string $script, array $query = [], string $pool = 'www'): ?string
    {
        return FastCgi::get("$this->folder/$pool.sock", $script, $query);
    }

    /**
     * Returns the response of a request with these variables: its status, its header fields by
     * their names in lower case, and its body. Returns null if the worker died.
     *
     * @param array<string, string> $variables such as REMOTE_ADDR
     * @return ?array{status: int, fields: array<string, string>, body: string}
     */
    public function request(string $script, array $variables = [], string $pool = 'www'): ?array
    {
        $output = FastCgi::output("$this->folder/$pool.sock", $script, $variables);
        if ($output === null) {
            return null;
        }
        [$header, $body] = explode("\r\n\r\n", $output, 2) + [1 => ''];
        $fields = [];
        foreach (explode("\r\n", $header) as $line) {
            [$name, $value] = explode(': ', $line, 2) + [1 => ''];
            $fields[strtolower($name)] = $value;
        }
        return ['status' => (int) ($fields['status'] ?? 200), 'fields' => $fields, 'body' => $body];
    }

    /** Returns the process id of the master, or 0 if it does not run. */
    public function master(): int
    {
        return (int) @file_get_contents("$this->folder/fpm.pid");
    }

    /** @return list<int> the workers of all pools */
    public function workers(): array
    {
        $master = $this->master();
        return $master === 0 ? [] : self::children($master);
    }

    /** Reloads php-fpm with USR2. Returns when every worker has been replaced. */
    public function reload(): void
    {
        $before = $this->generations();
        send_signal('USR2', $this->master());
        $this->wait_until('php-fpm has reloaded', fn () => $this->generations() > $before);
    }

    /** Ends the master and its workers, and kills processes that do not end in time. */
    public function stop(): void
    {
        $master = $this->master();
        $processes = $master === 0 ? [] : [$master, ...$this->workers()];
        if (is_alive($master)) {
            send_signal('TERM', $master);
        }
        $live = fn () => array_filter($processes, is_alive(...));
        try {
            $this->wait_until('php-fpm has ended', fn () => $live() === []);
        } catch (RuntimeException $late) {
            send_signal('KILL', ...$live());
            echo $late->getMessage(), "\n";
        }
        if ($this->process !== null) {
            proc_close($this->process);
            $this->process = null;
        }
    }

    /**
     * Returns the number of times that the master has started its workers. It replaces itself only
     * after all workers of the last time have ended, and writes this line after it has forked the
     * new ones. A signal before this line may kill the master.
     */
    private function generations(): int
    {
        return substr_count((string) @file_get_contents("$this->folder/fpm.log"), 'ready to handle connections');
    }

    /** Returns the logs of php-fpm and its php. */
    public function log(): string
    {
        return @file_get_contents("$this->folder/fpm.log") . @file_get_contents("$this->folder/out.log");
    }

    private function configuration(): string
    {
        $sections = ['global' => [
            'pid' => "$this->folder/fpm.pid",
            'error_log' => "$this->folder/fpm.log",
            'process_control_timeout' => '5s',
        ]];
        $user = fileowner('/proc/self') === 0 ? ['user' => 'nobody'] : [];
        // A debug build of PHP reports errors of a worker only on the output of the worker. Its
        // checks also depend on the environment.
        $catch = PHP_DEBUG ? ['catch_workers_output' => 'yes', 'clear_env' => 'no'] : [];
        foreach ($this->pools as $pool => $directives) {
            $sections[$pool] = $directives + $user + $catch + [
                'listen' => "$this->folder/$pool.sock",
                'pm' => 'static',
                'pm.max_children' => 4,
                'ping.path' => '/ping',
            ];
        }
        $text = '';
        foreach ($sections as $section => $directives) {
            $text .= "[$section]\n";
            foreach ($directives as $name => $value) {
                $text .= "$name = $value\n";
            }
        }
        return $text;
    }

    private function start(string $arguments, array $ini, bool $daemon, string $working_folder): void
    {
        foreach ($ini as $name => $value) {
            $arguments .= ' -d ' . escapeshellarg("$name=\"$value\"");
        }
        $out = ['file', "$this->folder/out.log", 'a'];
        $this->process = proc_open(
            'exec ' . self::binary() . " $arguments " . ($daemon ? '-D' : '-F') . " -y $this->folder/fpm.conf",
            [['file', '/dev/null', 'r'], $out, $out],
            $pipes,
            $working_folder
        );
        $this->wait_until('php-fpm has started', fn () => $this->generations() > 0 && $this->answers());
    }

    private function answers(): bool
    {
        try {
            foreach (array_keys($this->pools) as $pool) {
                if ($this->get('/ping', [], $pool) !== 'pong') {
                    return false;
                }
            }
        } catch (RuntimeException) {
            return false;
        }
        return true;
    }

    private function wait_until(string $what, callable $condition): void
    {
        $deadline = microtime(true) + self::PATIENCE;
        while (!$condition()) {
            if (microtime(true) > $deadline) {
                throw new RuntimeException("Not in " . self::PATIENCE . " s: $what\n" . $this->log());
            }
            usleep(10_000);
        }
    }

    /** @return list<int> the children of a process */
    public static function children(int $parent): array
    {
        $children = [];
        foreach (glob('/proc/[0-9]*') as $process) {
            [$state, $its_parent] = process_fields($process) + ['Z', '0'];
            if ((int) $its_parent === $parent && $state !== 'Z') {
                $children[] = (int) basename($process);
            }
        }
        return $children;
    }

    private function remove(): void
    {
        // Forked children of the test inherit this function.
        if (getmypid() !== $this->owner) {
            return;
        }
        $this->stop();
        // Prints messages that only a debug build of PHP writes.
        foreach (array_unique(preg_grep('/memory leaks detected|Assertion .* failed/', explode("\n", $this->log()))) as $line) {
            echo "$line\n";
        }
        array_map(unlink(...), glob("$this->folder/*"));
        rmdir($this->folder);
    }
}
