<?php
/**
 * Measures the processor time of php-fpm for a request: denied by the guard, denied by a file in
 * auto_prepend_file, and not denied.
 *
 * Each case has a php-fpm with one worker and opcache. The client sends the requests of all cases
 * alternately, each over a new connection. The kernel's count of the worker's processor time is in
 * nanoseconds, and depends less on other load than the duration of a request does.
 *
 * The environment variable TOKENBUCKET_BEFORE is the path of a module without the guard. That
 * module is compared with the current one, while the guard is off.
 */
require __DIR__ . '/../testkit/php/fpm.php';

const ROUNDS = 25;
const REQUESTS = 400;

/** A file that denies as the guard does, as in docs/how-to/guard.md. */
const PREPENDED = <<<'PHP'
    <?php
    $storage = new TokenBucketStorageSharedMemory('requests');
    $decision = (new TokenBucket($storage, $_SERVER['REMOTE_ADDR'], 1, 1 / TokenBucket::DAY))->attempt();
    if (!$decision->allowed) {
        header('Retry-After: ' . ceil($decision->retryAfter), response_code: 429);
        exit("Too many requests.\n");
    }
    PHP;

/** A script that sends the response of a denial. */
const SAME_RESPONSE = <<<'PHP'
    <?php
    http_response_code(429);
    header('Cache-Control: no-store');
    header('RateLimit-Policy: "guard";q=1;w=86400');
    header('RateLimit: "guard";r=0;t=86400');
    header('Retry-After: 86400');
    echo "Too many requests.\n";
    PHP;

/** A php-fpm with one case, and the processor times of its worker for a request, by round. */
final class Subject
{
    /** @var list<float> microseconds */
    public array $times = [];
    private readonly Fpm $fpm;
    private readonly string $script;
    private readonly string $schedule;

    /** @param ?string $code the script, or null for an application */
    public function __construct(string $arguments, array $ini, ?string $code, private readonly int $status)
    {
        $this->fpm = new Fpm(['www' => ['pm.max_children' => 1]], $ini + ['opcache.file_update_protection' => '0'], arguments: $arguments);
        $this->script = $this->fpm->script('script', $code ?? $this->application());
        $this->schedule = "/proc/{$this->fpm->workers()[0]}/schedstat";
    }

    /**
     * Returns a script that loads 150 classes as Composer's autoloader does. Each class extends a
     * class and implements an interface of other files.
     */
    private function application(): string
    {
        for ($class = 0; $class < 150; $class++) {
            $head = match ($class % 3) {
                0 => "interface C$class { public const NAME = 'C$class';",
                1 => "abstract class C$class implements C" . $class - 1 . ' {',
                2 => "final class C$class extends C" . $class - 1 . ' {',
            };
            $methods = '';
            for ($method = 0; $class % 3 && $method < 10; $method++) {
                $methods .= "    public function method$method(int \$a, ?array \$b = null): int { return \$a + $method + count(\$b ?? [1, 2]); }\n";
            }
            $this->fpm->script("C$class", "<?php\nnamespace App\\Service;\n$head\n$methods}\n");
        }
        return <<<'PHP'
            <?php
            spl_autoload_register(function (string $class): void {
                foreach (['App\\Entity\\' => '/entity/', 'App\\Service\\' => '/'] as $prefix => $folder) {
                    $file = __DIR__ . $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
                    if (str_starts_with($class, $prefix) && file_exists($file)) {
                        require $file;
                        return;
                    }
                }
            });
            $sum = 0;
            for ($i = 2; $i < 150; $i += 3) {
                $class = "App\\Service\\C$i";
                $sum += (new $class)->method3($i);
            }
            echo $sum;
            PHP;
    }

    public function measure(): void
    {
        $before = $this->processor_time();
        for ($i = 0; $i < REQUESTS; $i++) {
            $status = $this->fpm->request($this->script, ['REMOTE_ADDR' => '192.0.2.1'])['status'] ?? 0;
            if ($status !== $this->status) {
                throw new RuntimeException("status $status instead of $this->status");
            }
        }
        $this->times[] = ($this->processor_time() - $before) / REQUESTS / 1000;
    }

    /** Sends requests that are not measured. The first one may be granted. */
    public function warm_up(): void
    {
        for ($i = 0; $i < 200; $i++) {
            $this->fpm->request($this->script, ['REMOTE_ADDR' => '192.0.2.1']);
        }
    }

    private function processor_time(): int
    {
        return (int) file_get_contents($this->schedule);
    }
}

function median(array $values): float
{
    sort($values);
    return $values[intdiv(count($values), 2)];
}

$ours = $argv[1];
$prepended = tempnam(sys_get_temp_dir(), 'tokenbucket-prepended-');
chmod($prepended, 0644);
file_put_contents($prepended, PREPENDED);
register_shutdown_function(fn () => unlink($prepended));
$guard = ['tokenbucket.guard' => 'ip 1/day'];
$trivial = '<?php echo "done\n";';
$subjects = [
    'denied by the guard' => new Subject($ours, $guard, null, 429),
    'denied by the guard, four keys' => new Subject($ours, ['tokenbucket.guard' => 'ip 1/day; ip+path 1/day; host+header:X-Key 1/day'], null, 429),
    'denied by auto_prepend_file' => new Subject($ours, ['auto_prepend_file' => $prepended], null, 429),
    'a script that sends the same response' => new Subject($ours, [], SAME_RESPONSE, 429),
    'trivial script, guard off' => new Subject($ours, [], $trivial, 200),
    'trivial script, granted' => new Subject($ours, ['tokenbucket.guard' => 'ip 1000000000/second'], $trivial, 200),
    '150 classes, guard off' => new Subject($ours, [], null, 200),
];
if ($before = getenv('TOKENBUCKET_BEFORE')) {
    $subjects['trivial script, module without guard'] = new Subject(preg_replace('/\S*tokenbucket\.so/', $before, $ours), [], $trivial, 200);
}
array_map(fn (Subject $subject) => $subject->warm_up(), $subjects);
for ($round = 0; $round < ROUNDS; $round++) {
    $names = array_keys($subjects);
    shuffle($names);
    array_map(fn (string $name) => $subjects[$name]->measure(), $names);
}
printf("%d rounds of %d requests, load %s; ratios to the trivial script\n", ROUNDS, REQUESTS, sys_getloadavg()[0]);
printf("%-38s %10s %18s %10s %10s\n", 'processor time of a request', 'median us', 'least to most', 'guard off', 'granted');
foreach ($subjects as $name => $subject) {
    printf("%-38s %10.2f %8.2f to %6.2f", $name, median($subject->times), min($subject->times), max($subject->times));
    foreach (['trivial script, guard off', 'trivial script, granted'] as $base) {
        printf(' %10.3f', median(array_map(fn (float $mine, float $other) => $mine / $other, $subject->times, $subjects[$base]->times)));
    }
    echo "\n";
}
