<?php
/**
 * Suspends processes for some milliseconds.
 *
 * A separate process resumes them, with a higher priority if that is permitted. So the resumption
 * is on time even if the campaign waits for a server or for a processor.
 */
final class Stopping
{
    /** The longest planned suspension in milliseconds. */
    public const LONGEST = 244;

    private readonly int $process;
    /** @var resource */
    private $control;

    public function __construct()
    {
        [$this->control, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
        $this->process = pcntl_fork();
        if ($this->process === 0) {
            fclose($this->control);
            @pcntl_setpriority(-10);
            fwrite($its, self::let_go_on($its) . "\n");
            // Skips the shutdown functions and destructors of the campaign.
            posix_kill(getmypid(), SIGKILL);
        }
        fclose($its);
    }

    public function stop(int $milliseconds, int ...$processes): void
    {
        $until = hrtime(true) + $milliseconds * 1_000_000;
        self::signal(SIGSTOP, ...$processes);
        fwrite($this->control, json_encode([$until, ...$processes]) . "\n");
    }

    /** Resumes all processes at once. Returns the greatest delay of a resumption in nanoseconds. */
    public function end(): int
    {
        stream_socket_shutdown($this->control, STREAM_SHUT_WR);
        $late = (int) fgets($this->control);
        pcntl_waitpid($this->process, $status);
        return $late;
    }

    /**
     * Sends a signal without a `kill` process, whose start takes seconds on a machine with a busy
     * disk.
     */
    private static function signal(int $signal, int ...$processes): void
    {
        foreach ($processes as $process) {
            posix_kill($process, $signal);
        }
    }

    /**
     * Resumes each process when its suspension is over, until the campaign closes its end of the
     * socket or dies.
     */
    private static function let_go_on($control): int
    {
        stream_set_blocking($control, false);
        $stopped = [];
        $late = 0;
        do {
            $next = $stopped === [] ? null : max(0, min(array_column($stopped, 0)) - hrtime(true));
            $ready = [$control];
            $none = null;
            stream_select($ready, $none, $none, $next === null ? null : 0, $next === null ? null : intdiv($next, 1_000));
            while (($line = fgets($control)) !== false) {
                $stopped[] = json_decode($line, true);
            }
            $ended = feof($control);
            foreach ($stopped as $key => [$until]) {
                if ($ended || $until <= hrtime(true)) {
                    self::signal(SIGCONT, ...array_slice($stopped[$key], 1));
                    $late = max($late, hrtime(true) - $until);
                    unset($stopped[$key]);
                }
            }
        } while (!$ended);
        return $late;
    }
}
