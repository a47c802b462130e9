<?php
require_once __DIR__ . '/places.php';

/**
 * Runs $work in forked children that start together, and returns their results in order.
 *
 * Each child runs $work($index, $barrier). $barrier() blocks until all children have called
 * $barrier() equally often. So each child must make the same number of calls.
 */
function in_processes(int $count, callable $work): array
{
    take_places(2);
    $parents = [];
    $pids = [];
    for ($index = 0; $index < $count; $index++) {
        [$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
        $pid = pcntl_fork();
        if ($pid === -1) {
            exit("fork failed\n");
        }
        if ($pid === 0) {
            foreach ($parents as $other) {
                fclose($other);
            }
            fclose($mine);
            $barrier = static function () use ($its): void {
                fwrite($its, 'B');
                if (fread($its, 1) !== 'G') {
                    exit(1);
                }
            };
            $barrier();
            try {
                $result = $work($index, $barrier);
            } catch (Throwable $e) {
                $result = $e;
                echo get_class($e), ': ', $e->getMessage(), ' on line ', $e->getLine(), "\n";
            }
            fwrite($its, 'R' . json_encode($result) . "\n");
            fclose($its);
            exit(0);
        }
        fclose($its);
        stream_set_timeout($mine, 300);
        $parents[$index] = $mine;
        $pids[$index] = $pid;
    }
    $results = [];
    while (count($results) < $count) {
        $waiting = [];
        foreach ($parents as $index => $stream) {
            if (array_key_exists($index, $results)) {
                continue;
            }
            switch (fread($stream, 1)) {
                case 'B':
                    $waiting[] = $stream;
                    break;
                case 'R':
                    $results[$index] = json_decode(fgets($stream), true);
                    break;
                default:
                    echo "child $index died\n";
                    $results[$index] = null;
            }
        }
        foreach ($waiting as $stream) {
            fwrite($stream, 'G');
        }
    }
    foreach ($pids as $pid) {
        pcntl_waitpid($pid, $status);
    }
    ksort($results);
    return $results;
}

/**
 * Returns the number of grants of each of eight processes, which call $make($index)() at once.
 *
 * They wait for each other before each chunk of calls. Otherwise one process may take all tokens
 * before the others start. After 20 chunks the bucket is empty, and the order no longer matters.
 */
function granted_in_race(callable $make, int $tries, int $chunk = 50): array
{
    return in_processes(8, function (int $index, callable $barrier) use ($make, $tries, $chunk): int {
        $try = $make($index);
        $granted = 0;
        for ($i = 0; $i < $tries; $i++) {
            if ($i % $chunk === 0 && $i <= 20 * $chunk) {
                $barrier();
            }
            $granted += (int) $try();
        }
        return $granted;
    });
}

/** Sends a signal by its name, without the posix extension. */
function send_signal(string $signal, int ...$pids): void
{
    exec("kill -$signal " . implode(' ', $pids) . ' 2>/dev/null');
}

/**
 * Returns the fields of a process or thread in /proc from its state on, or an empty list if it does
 * not exist. The process name, in brackets, may contain any bytes and precedes them.
 *
 * @return list<string>
 */
function process_fields(string $folder): array
{
    $stat = (string) @file_get_contents("$folder/stat");
    return $stat === '' ? [] : explode(' ', substr($stat, strrpos($stat, ')') + 2));
}

/** Reports whether a process exists and is not a zombie. */
function is_alive(int $pid): bool
{
    return !in_array(process_fields("/proc/$pid")[0] ?? 'X', ['Z', 'X'], true);
}

/** Returns the instant at which a process started. With its id, it identifies the process. */
function start_of_process(int $pid): ?string
{
    return process_fields("/proc/$pid")[19] ?? null;
}

/** Reports whether a process sleeps in a function of the kernel. Some kernels name no function. */
function sleeps_in(int $pid, string $function): bool
{
    return (process_fields("/proc/$pid")[0] ?? '') === 'S'
        && preg_match("/$function|^0?$/", (string) @file_get_contents("/proc/$pid/wchan"));
}

/**
 * Starts a process that sends the named signal to this process when a call of the extension sleeps.
 * Returns the id of the started process for signalled().
 */
function signal_during_sleep(string $signal): int
{
    $sleeper = getmypid();
    $pid = pcntl_fork();
    if ($pid === 0) {
        // The extension sleeps in ppoll(), and the polyfill in nanosleep().
        do {
            usleep(1_000);
            $sleeps = sleeps_in($sleeper, 'poll|nanosleep');
        } while (!$sleeps && !sleeps_in($sleeper, 'do_wait') && is_dir("/proc/$sleeper"));
        $sleeps && send_signal($signal, $sleeper);
        // Ends without the shutdown functions of the parent.
        send_signal($sleeps ? 'KILL' : 'TERM', getmypid());
    }
    return $pid;
}

/** Ends the test if the signal of signal_during_sleep() was not sent before the sleep ended. */
function signalled(int $signaller): void
{
    pcntl_waitpid($signaller, $status);
    pcntl_wtermsig($status) === SIGKILL || inconclusive('the sleep ended before it was seen');
}
