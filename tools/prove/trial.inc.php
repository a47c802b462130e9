<?php
require_once __DIR__ . '/worker.php';
require_once __DIR__ . '/subject.inc.php';
require_once __DIR__ . '/stopping.inc.php';
require_once __DIR__ . '/judges.inc.php';
require_once __DIR__ . '/../testkit/php/child.php';
require_once __DIR__ . '/../testkit/php/fpm.php';

/**
 * Runs one subject under load and faults for some seconds, and then judges its logs.
 *
 * The plan of faults depends on the seed alone. The plan determines the kind, the time, the process
 * and the duration of each fault. The kernel's scheduler determines at which point of a call a
 * fault occurs.
 */
final class Trial
{
    /** The seconds within which all workers must end after the trial. */
    private const PATIENCE = 20;
    /** The length of a request under php-fpm in milliseconds. */
    private const REQUEST = 60;
    /** @var array<string, int> the number of each fault */
    public array $counts = [];
    public readonly string $folder;
    private readonly CallLog $events;
    private readonly \Random\Randomizer $dice;
    /**
     * @var array<int, array{resource, int}> the process and process id of each worker, by number
     */
    private array $workers = [];
    /** @var list<int> the client processes of php-fpm */
    private array $clients = [];
    private readonly Stopping $stopping;
    /**
     * @var list<array{int, callable}> the time at which each fault ends, and the function that ends
     *        it
     */
    private array $endings = [];
    private int $lives = 0;
    private int $end;

    public function __construct(private readonly Subject $subject, private readonly float $seconds, int $seed)
    {
        $this->dice = new \Random\Randomizer(new \Random\Engine\Mt19937($seed));
        $this->folder = sys_get_temp_dir() . '/tokenbucket-prove-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->folder);
        // php-fpm workers may run as another user and write here too.
        chmod($this->folder, 01777);
        $this->events = new CallLog($this->folder, 'events');
        $this->stopping = new Stopping;
        $owner = getmypid();
        register_shutdown_function(fn () => getmypid() === $owner && $this->remove());
    }

    /**
     * Runs the trial.
     *
     * @return array{string, int} the judge's output and exit code. The code is 0 if the rules hold,
     *         1 if a rule is broken, and 2 if the logs prove nothing
     */
    public function run(): array
    {
        $plan = $this->plan();
        $this->end = hrtime(true) + (int) ($this->seconds * 1e9);
        $begin = hrtime(true);
        file_put_contents("$this->folder/load.json", json_encode(
            ['logs' => $this->folder, 'end' => $this->end] + $this->subject->load()
        ));
        chmod("$this->folder/load.json", 0644);
        touch("$this->folder/out");
        // Workers of another user can open this file, too.
        touch("$this->folder/alive");
        chmod("$this->folder/alive", 0644);
        for ($slot = 0; $slot < $this->subject->workers; $slot++) {
            $this->start($slot);
        }
        $this->ask_fpm();
        foreach ($plan as [$at, $name, $roll]) {
            $this->sleep_until($begin + $at);
            $this->fault($name, $roll);
        }
        $this->sleep_until($this->end);
        $late = $this->finish();
        $this->subject->finish($this->folder);
        $this->counts['stopped longer by ms'] = intdiv($late, 1_000_000);
        file_put_contents("$this->folder/rules.log", $this->subject->rules($late));
        return judge($this->folder);
    }

    public function remove(): void
    {
        foreach (array_keys($this->workers) as $slot) {
            $this->end_worker($slot);
        }
        exec('rm -rf ' . escapeshellarg($this->folder));
    }

    /** Returns a short hash of the plan, which shows whether two runs had the same plan. */
    public static function fingerprint(array $plan): string
    {
        return substr(hash('sha256', json_encode($plan)), 0, 8);
    }

    /**
     * Returns the plan of faults.
     *
     * @return list<array{int, string, int}> the time in nanoseconds, the name of the fault, and a
     *         random number that determines the process and the duration
     */
    private function plan(): array
    {
        $plan = [];
        foreach ($this->subject->faults() as $name => [$a_second]) {
            $plan = [...$plan, ...array_map($this->chance(...), array_fill(0, $this->often($a_second), $name))];
        }
        $losses = array_keys($this->subject->losses());
        if ($losses !== []) {
            $first = $this->dice->getInt(0, count($losses) - 1);
            for ($i = 0; $i < $this->often($this->subject::LOSSES); $i++) {
                $plan[] = $this->chance($losses[($first + $i) % count($losses)]);
            }
        }
        sort($plan);
        $this->counts['plan ' . self::fingerprint($plan)] = count($plan);
        return $plan;
    }

    private function often(float $a_second): int
    {
        return max(1, (int) round($a_second * $this->seconds));
    }

    /** @return array{int, string, int} one fault of the plan */
    private function chance(string $fault): array
    {
        $at = $this->dice->getInt((int) 2e8, (int) (max(0.3, $this->seconds - 0.3) * 1e9));
        return [$at, $fault, $this->dice->getInt(0, 1 << 30)];
    }

    private function fault(string $name, int $roll): void
    {
        $loss = $this->subject->losses()[$name] ?? null;
        if ($loss !== null) {
            $then = $this->lost($loss);
            $this->count($name);
            is_callable($then) && $then();
            return;
        }
        [, $do] = $this->subject->faults()[$name];
        $milliseconds = 5 + $roll % (Stopping::LONGEST - 4);
        $ending = $do($this, $roll >> 8, $milliseconds);
        if ($ending === false) {
            return;
        }
        $this->count($name);
        if (is_callable($ending)) {
            $this->endings[] = [hrtime(true) + $milliseconds * 1_000_000, $ending];
        }
    }

    private function count(string $fault): void
    {
        $this->counts[$fault] = ($this->counts[$fault] ?? 0) + 1;
    }

    /**
     * Runs a fault and notes that the store may have lost all buckets while it ran. Returns the
     * result of the fault.
     */
    private function lost(callable $fault): mixed
    {
        $sequence = $this->events->start(CallLog::LOST, 0);
        $result = $fault();
        $this->events->end(hrtime(true), $sequence, CallLog::DONE);
        return $result;
    }

    public function kill_worker(int $roll): void
    {
        $slot = $roll % $this->subject->workers;
        // If workers kill themselves, this one may already be dead, and hold no permit until now.
        // So no doom is noted, which would state that it holds them.
        $this->subject::DIES || $this->events->doom($this->workers[$slot][1]);
        $this->end_worker($slot);
        $this->start($slot);
    }

    public function stop_worker(int $roll, int $milliseconds): void
    {
        $this->stop($milliseconds, $this->workers[$roll % $this->subject->workers][1]);
    }

    public function stop(int $milliseconds, int ...$processes): void
    {
        $this->stopping->stop($milliseconds, ...$processes);
    }

    public function kill_fpm_worker(int $roll): bool
    {
        $worker = $this->fpm_worker($roll);
        if ($worker === null) {
            return false;
        }
        $this->events->doom($worker);
        posix_kill($worker, SIGKILL);
        wait_for('a killed worker has ended', fn () => !is_alive($worker));
        $this->events->death($worker);
        return true;
    }

    public function stop_fpm_worker(int $roll, int $milliseconds): bool
    {
        $worker = $this->fpm_worker($roll);
        $worker === null || $this->stop($milliseconds, $worker);
        return $worker !== null;
    }

    /** Returns the process id of a php-fpm worker, or null if no worker runs. */
    private function fpm_worker(int $roll): ?int
    {
        $workers = $this->subject->fpm->workers();
        return $workers[$roll % max(1, count($workers))] ?? null;
    }

    private function start(int $slot): void
    {
        // Each worker has its own seed, so that its calls depend only on the worker's number and
        // the number of starts.
        $seed = crc32("$slot " . ++$this->lives);
        $command = $this->subject->command($slot) . ' -f ' . escapeshellarg(__DIR__ . '/worker.php')
            . ' -- ' . escapeshellarg("$this->folder/load.json") . " $slot $seed";
        $out = ['file', "$this->folder/out", 'a'];
        $process = proc_open("exec $command", [['file', '/dev/null', 'r'], $out, $out], $pipes);
        $this->workers[$slot] = [$process, $this->subject->process($slot, proc_get_status($process)['pid'])];
    }

    private function end_worker(int $slot): void
    {
        [$process, $id] = $this->workers[$slot];
        unset($this->workers[$slot]);
        if (proc_get_status($process)['running']) {
            posix_kill($id, SIGKILL);
        }
        proc_close($process);
        $this->events->death($id);
    }

    private function replace_the_dead(): void
    {
        foreach ($this->workers as $slot => [$process]) {
            if (proc_get_status($process)['signaled']) {
                $this->end_worker($slot);
                $this->start($slot);
            }
        }
    }

    private function ask_fpm(): void
    {
        $fpm = $this->subject->fpm;
        if ($fpm === null) {
            return;
        }
        $script = $fpm->script('worker', $this->subject->code());
        for ($client = 0; $client < $this->subject->clients; $client++) {
            $pid = pcntl_fork();
            if ($pid !== 0) {
                $this->clients[] = $pid;
                continue;
            }
            for ($request = 1; hrtime(true) < $this->end; $request++) {
                try {
                    $said = $this->subject->request($script, [
                        'load' => "$this->folder/load.json",
                        'slot' => -1,
                        'seed' => crc32("fpm $client $request"),
                        'milliseconds' => self::REQUEST,
                    ]);
                    file_put_contents("$this->folder/out", (string) $said, FILE_APPEND);
                } catch (RuntimeException) {
                    // php-fpm is reloading.
                    usleep(5_000);
                }
            }
            exit(0);
        }
    }

    private function sleep_until(int $time): void
    {
        do {
            $now = hrtime(true);
            $this->subject::DIES && $this->replace_the_dead();
            foreach ($this->endings as $key => [$when, $ending]) {
                if ($when <= $now) {
                    unset($this->endings[$key]);
                    $ending();
                }
            }
            usleep(max(0, min(1_000, intdiv($time - $now, 1_000))));
        } while ($now < $time);
    }

    /**
     * Waits until all workers have ended. Throws an exception if a worker hangs or has printed
     * anything unexpected.
     *
     * @return int the greatest delay of a resumption in nanoseconds
     */
    private function finish(): int
    {
        $late = $this->stopping->end();
        foreach ($this->endings as [, $ending]) {
            $ending();
        }
        $deadline = microtime(true) + self::PATIENCE;
        foreach ($this->workers as $slot => [$process]) {
            while (proc_get_status($process)['running']) {
                if (microtime(true) > $deadline) {
                    throw new RuntimeException("worker $slot hangs");
                }
                usleep(1_000);
            }
            $this->end_worker($slot);
        }
        foreach ($this->clients as $client) {
            pcntl_waitpid($client, $status);
        }
        $said = file_get_contents("$this->folder/out");
        // PostgreSQL's client library prints the last warning of a server that is killed. That
        // warning is expected.
        $said = preg_replace('/^WARNING:  terminating connection.*\n/m', '', $said);
        if ($this->subject::DIES) {
            preg_match_all('/^(died at: \w+)\n/m', str_replace('done', '', $said), $deaths);
            array_map($this->count(...), $deaths[1]);
            $said = str_replace($deaths[0], '', $said);
        }
        if (str_replace('done', '', $said) !== '') {
            throw new RuntimeException('a worker printed: ' . substr($said, 0, 2_000));
        }
        return $late;
    }
}
