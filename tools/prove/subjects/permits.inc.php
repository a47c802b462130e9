<?php
require_once __DIR__ . '/redis.inc.php';
require_once __DIR__ . '/shared_memory.inc.php';
require_once __DIR__ . '/../permits.inc.php';
require_once __DIR__ . '/../../testkit/php/nginx.php';

/** The load of a concurrency limit, and the rules by which the judge reads its log. */
trait LoadOfPermits
{
    public function load(): array
    {
        return [
            'permits' => true,
            // A key and the limit of a caller. Callers of one key may have different limits.
            'limits' => [[1, 1], [2, 2], [3, 3], [3, 2]],
            // The number of keys with a limit of 1 that callers rarely use. A sixth of the calls is
            // on these keys.
            'rare' => 0,
            // The most permits that a worker holds.
            'held' => 2,
            // The greatest pause in microseconds. A worker pauses after one of `pauses` turns of
            // its loop.
            'pause' => 2_000,
            'pauses' => 4,
            // A worker forks at one of this many turns, or never if the number is 0.
            'forks' => 0,
            // The number of turns after which a worker or a request ends, or -1 for no such number.
            'turns' => -1,
            'lease' => 60.0,
            // True if some permits end with their last reference. On Redis, nothing is thrown if
            // such a release fails.
            'drops' => true,
        ];
    }

    public function rules(int $late): string
    {
        ['limits' => $limits, 'rare' => $rare] = $this->load();
        $greatest = $rare === 0 ? [] : array_fill(PermitLoad::RARE, $rare, 1);
        foreach ($limits as [$key, $limit]) {
            $greatest[$key] = max($limit, $greatest[$key] ?? 0);
        }
        return implode(array_map(fn (int $key, int $limit) => "limit $key $limit\n", array_keys($greatest), $greatest));
    }

    protected function allowances(): array
    {
        return [];
    }
}

/**
 * Permits in a named segment that php-fpm and the command line share. Some of the workers are in
 * process namespaces of their own.
 */
class PermitsSubject extends SharedMemorySubject
{
    use LoadOfPermits {
        load as load_of_permits;
    }

    /** The start of a command that gives PHP a process namespace of its own. */
    private const UNSHARE = 'unshare --pid --fork --kill-child 2>/dev/null';

    public function load(): array
    {
        return ['forks' => 300] + $this->load_of_permits();
    }

    public function code(): string
    {
        return code_of_permits(parent::code());
    }

    public function command(int $slot): string
    {
        return $this->is_apart($slot) ? self::UNSHARE . ' ' . parent::command($slot) : parent::command($slot);
    }

    public function process(int $slot, int $id): int
    {
        return $this->is_apart($slot) ? child_of($id) : $id;
    }

    /** Returns true if the worker is in a namespace of its own. */
    private function is_apart(int $slot): bool
    {
        return $slot % 2 === 1 && can_unshare();
    }

    public function finish(string $folder): void
    {
        // Children of workers may still run.
        flock(fopen("$folder/alive", 'r'), LOCK_EX);
        $code = 'require ' . var_export(dirname(__DIR__) . '/worker.php', true) . ';'
            . 'require ' . var_export(dirname(__DIR__) . '/permits.inc.php', true) . ';'
            . 'take_all_permits(json_decode(' . var_export(json_encode(['logs' => $folder] + $this->load()), true) . ', true));';
        $said = php_run($code, $this->ini());
        if ($said !== '') {
            throw new RuntimeException("after the trial: $said");
        }
    }
}

/** Permits on a Redis behind an unreliable connection. The Redis does not lose its data. */
final class RedisPermitsSubject extends RedisSubject
{
    use LoadOfPermits {
        load as load_of_permits;
        rules as rules_of_permits;
    }

    /** The seconds after which a permit ends. */
    private const LEASE = 2;

    public function load(): array
    {
        return ['dsn' => $this->storage()['arguments']['dsn'], 'lease' => self::LEASE, 'drops' => false] + $this->load_of_permits();
    }

    public function rules(int $late): string
    {
        // A request that was sent before a suspension takes effect after it.
        $linger = 500_000_000 + 2 * $late;
        return $this->rules_of_permits($late) . 'lease ' . self::LEASE . "000000000\nlinger $linger\n";
    }

    public function losses(): array
    {
        return [];
    }

    public function code(): string
    {
        return code_of_permits(parent::code());
    }
}

/** Workers die at the marked steps of the protocol of permits. */
final class DyingPermitsSubject extends PermitsSubject
{
    public const DIES = true;
    /**
     * A worker dies at one in this many common marked steps, and at a greater share of the rare
     * ones.
     */
    private const ONE_IN = 400;

    protected function with_fpm(): bool
    {
        return false;
    }

    public function load(): array
    {
        // Workers do not fork, because a forked child that dies would not be counted. With many
        // rare keys, callers claim cells that belonged to other keys.
        return ['forks' => 0, 'rare' => 5_000] + parent::load();
    }

    public function command(int $slot): string
    {
        $command = self::with_module(SharedMemorySubject::command($slot), getenv('PROVE_DYING'));
        return 'env TOKENBUCKET_DEATHS=' . self::ONE_IN . " $command";
    }

    public function process(int $slot, int $id): int
    {
        return $id;
    }
}

/** 40 clients of nginx and php-fpm share 8 permits, while workers are killed. */
final class PermitsBehindNginxSubject extends PermitsSubject
{
    private const KILLS_A_SECOND = 200 / 30;

    public int $workers = 0;
    public int $clients = 40;
    private readonly Nginx $nginx;

    public function __construct()
    {
        parent::__construct();
        $this->nginx = new Nginx($this->fpm);
    }

    protected function start_fpm(array $ini = [], array $directives = []): ?Fpm
    {
        return parent::start_fpm($ini, ['listen.mode' => '0666'] + $directives);
    }

    public function load(): array
    {
        return ['limits' => [[1, 8]], 'held' => 1, 'pause' => 100_000, 'pauses' => 1, 'turns' => 2, 'forks' => 0] + parent::load();
    }

    public function request(string $script, array $query): ?string
    {
        $context = stream_context_create(['http' => ['ignore_errors' => true, 'timeout' => 60]]);
        $target = '/' . basename($script, '.php') . '?' . http_build_query($query);
        $body = @file_get_contents("http://127.0.0.1:{$this->nginx->port}$target", false, $context);
        // nginx answers for a worker that died.
        return str_contains($http_response_header[0] ?? '', ' 502 ') ? null : (string) $body;
    }

    public function faults(): array
    {
        return ['fpm worker killed' => [self::KILLS_A_SECOND, parent::faults()['fpm worker killed'][1]]];
    }

    public function stop(): void
    {
        $this->nginx->kill();
        parent::stop();
    }
}

/** Appends the code of the load of permits to that of a worker. */
function code_of_permits(string $worker): string
{
    return $worker . substr(file_get_contents(__DIR__ . '/../permits.inc.php'), strlen('<?php'));
}

/** Reports whether this user may create process namespaces. */
function can_unshare(): bool
{
    static $can = null;
    return $can ??= exec('unshare --pid --fork echo yes 2>&1') === 'yes';
}

/** Returns the only child of a process, as soon as it exists. */
function child_of(int $process): int
{
    for ($i = 0; $i < 30_000; $i++) {
        $child = (int) @file_get_contents("/proc/$process/task/$process/children");
        if ($child !== 0) {
            return $child;
        }
        usleep(1_000);
    }
    throw new RuntimeException("process $process has no child");
}
