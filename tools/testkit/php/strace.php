<?php
/** Counts system calls with strace. Other load on the machine does not change these numbers. */
require_once __DIR__ . '/child.php';

/** Reports whether strace can trace processes here. */
function has_strace(): bool
{
    exec('strace -f -o /dev/null true 2>&1', $output, $code);
    return $code === 0;
}

/**
 * Runs $work while strace traces these calls of running processes. Returns a line for each call.
 *
 * @param list<int> $processes
 */
function traced(array $processes, string $calls, callable $work): string
{
    $trace = temporary_folder() . '/trace';
    $of = array_merge(...array_map(fn (int $process) => ['-p', (string) $process], $processes));
    $strace = proc_open(['strace', ...$of, '-e', "trace=$calls", '-o', $trace], [2 => ['pipe', 'w']], $pipes);
    // strace prints a line when it is attached to a process.
    array_map(fn () => fgets($pipes[2]), $processes);
    $work();
    proc_terminate($strace, 2);
    proc_close($strace);
    return file_get_contents($trace);
}

/**
 * Returns the least number of system calls that running processes make during $work, which runs
 * several times, because the processes fill their caches at first. Does not count calls that read
 * attributes of files, because PHP's caches of these expire.
 */
function count_calls(array $processes, callable $work): int
{
    $count = fn () => preg_match_all('/^(\d+ +)?\w+\(/m', traced($processes, '!newfstatat,stat,lstat', $work));
    return min(array_map($count, range(1, 4)));
}

/** Runs $code in a child php while strace traces these calls. Returns a line for each call. */
function php_traced(string $code, string $calls, array $ini = []): string
{
    $trace = temporary_folder() . '/trace';
    $output = shell_exec('strace -s 200 -e ' . escapeshellarg("trace=$calls") . " -o $trace " . php_command($ini) . ' -r ' . escapeshellarg($code) . ' 2>&1 >/dev/null');
    return file_get_contents($trace) . $output;
}
