<?php
require_once __DIR__ . '/check.php';
require_once __DIR__ . '/places.php';
require_once __DIR__ . '/processes.php';
require_once __DIR__ . '/wait_for.php';

/**
 * A server's process, run as an unprivileged user, with its sockets and log in a temporary folder.
 *
 * The server ends with the test. If the test dies without a shutdown, a watchdog kills the server.
 * The watchdog waits for the end of a pipe. Only the test and its forked children hold the other
 * end of that pipe.
 */
abstract class ServerProcess
{
    /** The places that a test takes if this server is its first. */
    protected const PLACES = 1;
    /** The seconds within which a server must start. */
    private const PATIENCE = 60;

    /** Kills the server and removes its folder when the input of the watchdog ends. */
    private const WATCHDOG = 'cat >/dev/null; kill -9 "-$1" "$1"; rm -rf "$2"';

    public readonly string $folder;
    /** The port of 127.0.0.1 that the server listens on, or 0. */
    public readonly int $port;
    /** The path of the Unix socket that the server listens on, or an empty string. */
    public readonly string $socket;
    public int $pid = 0;
    private readonly int $owner;
    /** @var ?resource */
    private $process = null;
    /** @var ?resource */
    private $watchdog = null;
    /** @var array<resource> the end of the pipe that the watchdog reads */
    private array $pipes = [];

    /**
     * Calls $start, which starts a server that needs free ports of its own, until no other process
     * has taken one of these ports.
     */
    public static function on_free_ports(callable $start): static
    {
        for ($try = 1;; $try++) {
            try {
                return $start();
            } catch (RuntimeException $taken) {
                $try < 5 || throw $taken;
            }
        }
    }

    /** @return list<string> the command that starts the server in the foreground, at this port */
    abstract protected function arguments(int $port): array;

    /** Reports whether this server replies. Returns false if another server has taken the port. */
    abstract protected function answers(int $port): bool;

    protected function __construct(private readonly bool $needs_port, string $socket_name)
    {
        take_places(static::PLACES);
        $this->owner = getmypid();
        $this->folder = sys_get_temp_dir() . "/tokenbucket-servers-$this->owner-" . bin2hex(random_bytes(4));
        mkdir($this->folder);
        chmod($this->folder, 0755);
        if (self::is_root()) {
            chown($this->folder, 'nobody');
            chgrp($this->folder, 'nogroup');
        }
        $this->socket = $socket_name === '' ? '' : "$this->folder/$socket_name";
        register_shutdown_function($this->remove(...));
        $this->start();
    }

    /**
     * Sends a signal by its name, for example STOP. After STOP, returns when all threads of the
     * server are suspended.
     */
    public function signal(string $signal): void
    {
        exec("kill -$signal $this->pid");
        $signal === 'STOP' && wait_for('all threads are suspended', fn () => array_diff($this->states(), ['T']) === []);
    }

    /** Kills the server and its children, as in a crash. Returns when it no longer exists. */
    public function kill(): void
    {
        if ($this->process === null) {
            return;
        }
        // Ends the watchdog first, because the watchdog might kill another process that gets the
        // server's id.
        proc_terminate($this->watchdog, 9);
        array_map(fclose(...), $this->pipes);
        proc_close($this->watchdog);
        proc_terminate($this->process, 9);
        exec("kill -9 -$this->pid 2>/dev/null");
        proc_close($this->process);
        $this->pipes = [];
        $this->watchdog = $this->process = null;
    }

    /** Restarts the server without data, at the same port and socket. */
    public function restart(): void
    {
        $this->kill();
        $this->start();
    }

    private function start(): void
    {
        for ($attempt = 0; $attempt < 10; $attempt++) {
            $port = $this->port ?? ($this->needs_port ? self::free_port() : 0);
            $this->launch($port);
            $deadline = microtime(true) + self::PATIENCE;
            // If another process has taken the port, the server exits and is started again.
            while (proc_get_status($this->process)['running'] && microtime(true) < $deadline) {
                if ($this->answers($port)) {
                    $this->port ??= $port;
                    return;
                }
                usleep(2_000);
            }
            $this->kill();
        }
        throw new RuntimeException('A server does not start: ' . file_get_contents("$this->folder/log"));
    }

    private function launch(int $port): void
    {
        $arguments = $this->arguments($port);
        skip_without($arguments[0]);
        // The server leads a process group, with which its children are killed.
        $command = self::unprivileged(['setsid', ...$arguments]);
        $null = ['file', '/dev/null', 'r+'];
        $log = ['file', "$this->folder/log", 'a'];
        $this->process = proc_open($command, [$null, $log, $log], $none, $this->folder)
            ?: throw new RuntimeException("Cannot start $command[0]: run scripts/setup test");
        $this->pid = proc_get_status($this->process)['pid'];
        $this->watchdog = proc_open(
            ['/bin/sh', '-c', self::WATCHDOG, 'watchdog', (string) $this->pid, $this->folder],
            [['pipe', 'r'], $null, $null],
            $this->pipes,
            '/'
        );
    }

    /** @return list<string> the state of each thread of the server, one letter as in ps */
    private function states(): array
    {
        return array_map(fn (string $thread) => process_fields($thread)[0] ?? '', glob("/proc/$this->pid/task/*"));
    }

    /**
     * Runs a command as nobody if root runs the tests.
     *
     * @param list<string> $command
     * @return list<string>
     */
    protected static function unprivileged(array $command): array
    {
        return self::is_root() ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', ...$command] : $command;
    }

    private static function is_root(): bool
    {
        return fileowner('/proc/self') === 0;
    }

    /** Returns a port that no process listens on now. Another process may take it at any time. */
    public static function free_port(): int
    {
        $listener = stream_socket_server('tcp://127.0.0.1:0');
        return (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);
    }

    private function remove(): void
    {
        // Forked children of the test inherit this function.
        if (getmypid() !== $this->owner) {
            return;
        }
        $this->kill();
        exec('rm -rf ' . escapeshellarg($this->folder));
    }
}
