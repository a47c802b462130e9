<?php
/** Counts system calls with strace. Other load on the machine does not change these numbers. */
require_once __DIR__ . '/child.php';
require_once __DIR__ . '/wait_for.php';

/** Reports whether strace can trace processes here. */
function has_strace(): bool
{
    exec('strace -f -o /dev/null true 2>&1', $output, $code);
    return $code === 0;
}

/**
 * Runs $work, which sends this number of requests, while strace traces these calls of the workers
 * of php-fpm, among them accept(). Returns a line for each call.
 *
 * @param list<int> $workers
 */
function traced(array $workers, string $calls, int $requests, callable $work): string
{
    $trace = temporary_folder() . '/trace';
    $of = array_merge(...array_map(fn (int $worker) => ['-p', (string) $worker], $workers));
    $strace = proc_open(['strace', ...$of, '-e', "trace=$calls", '-o', $trace], [2 => ['file', "$trace.errors", 'w']], $pipes);
    // strace writes each line at once. A worker that waits for a request calls accept() again when
    // strace has attached to it, and again after each request.
    $accepted = fn (): int => preg_match_all('/^(\d+ +)?accept4?\(/m', (string) @file_get_contents($trace));
    try {
        wait_for('all workers are traced', fn () => $accepted() === count($workers));
        $work();
        wait_for('the trace is whole', fn () => $accepted() === count($workers) + $requests);
    } finally {
        proc_terminate($strace, 2);
        proc_close($strace);
    }
    return file_get_contents($trace);
}

/**
 * Returns the median number of system calls that a worker of php-fpm makes for a request. $work
 * sends this number of requests. It is done twice, because the workers fill their caches at first.
 * Does not count calls that read attributes of files, because PHP's caches of these expire.
 *
 * @param list<int> $workers
 */
function count_calls(array $workers, int $requests, callable $work): int
{
    $work();
    $trace = traced($workers, '!newfstatat,stat,lstat', $requests, $work);
    preg_match_all('/^(?:(\d+) +)?(\w+)\(/m', $trace, $calls, PREG_SET_ORDER);
    $counts = [];
    foreach ($calls as [, $worker, $call]) {
        // Each request begins when accept() returns.
        if (str_starts_with($call, 'accept')) {
            $counts[$worker][] = 0;
        }
        if (isset($counts[$worker])) {
            $counts[$worker][array_key_last($counts[$worker])]++;
        }
    }
    $counts = array_merge(...array_map(fn (array $of_worker) => array_slice($of_worker, 0, -1), array_values($counts)));
    sort($counts);
    return $counts[intdiv($requests, 2)];
}

/** Runs $code in a child php while strace traces these calls. Returns a line for each call. */
function php_traced(string $code, string $calls, array $ini = []): string
{
    $trace = temporary_folder() . '/trace';
    $output = shell_exec('strace -s 200 -e ' . escapeshellarg("trace=$calls") . " -o $trace " . php_command($ini) . ' -r ' . escapeshellarg($code) . ' 2>&1 >/dev/null');
    return file_get_contents($trace) . $output;
}
