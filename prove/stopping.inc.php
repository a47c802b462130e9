<?php
/**
 * Stops processes for a while.
 *
 * Who lets them go on is a process of its own, with priority where that may be had: the campaign waits for servers
 * now and then, and for a processor, and nobody should be stopped longer for it.
 */
final class Stopping
{
    /** The longest that anybody is meant to be stopped, in milliseconds. */
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
            // Not what the campaign does at its end.
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

    /** Lets everybody go on at once; by how many nanoseconds somebody was stopped longer than meant until then. */
    public function end(): int
    {
        stream_socket_shutdown($this->control, STREAM_SHUT_WR);
        $late = (int) fgets($this->control);
        pcntl_waitpid($this->process, $status);
        return $late;
    }

    /** At once: to start a `kill` may take seconds where others write to the disk. */
    private static function signal(int $signal, int ...$processes): void
    {
        foreach ($processes as $process) {
            posix_kill($process, $signal);
        }
    }

    /** Until there is nobody left who could stop anybody, which is so when the campaign died, too. */
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
