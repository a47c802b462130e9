<?php
/**
 * Measures the requests a second of nginx and php-fpm, with and without a limiter in the script.
 *
 * Each request creates its limiter and takes one token. opcache is on. The program ab requests the
 * scripts alternately, over persistent connections. ab, nginx, the workers and Redis share the
 * processors.
 */
require __DIR__ . '/measure.inc.php';
require __DIR__ . '/../testkit/php/nginx.php';
require __DIR__ . '/../testkit/php/fpm.php';
require __DIR__ . '/../testkit/php/servers.php';

const ROUNDS = 9;
const REQUESTS = 4_000;
const CLIENTS = 8;
/** The names of the rows by script. */
const NAMES = [
    'none' => 'no limiter',
    'shared-memory' => 'TokenBucket, shared memory',
    'redis' => 'TokenBucket, Redis',
    'userland' => 'userland bucket on APCu',
    'symfony' => 'Symfony on APCu, no lock',
    'symfony-locked' => 'Symfony on APCu, semaphore',
    'laravel-redis' => 'Laravel RateLimiter on Redis',
];

/**
 * The script around the code of a limiter. It sends a Content-Length, because ab's connections are
 * not persistent without this header.
 */
const SCRIPT = <<<'PHP'
    <?php
    $identifier = $_GET['identifier'];
    $capacity = (int) $_GET['capacity'];
    %s
    http_response_code($passes ? 200 : 429);
    header('Content-Length: 6');
    echo $passes ? 'passes' : 'denied';
    PHP;

/** @return array<string, string> by name: code that sets $passes, from $identifier and $capacity */
function limiters(RedisServer $redis): array
{
    $symfony = <<<'PHP'
        require 'Symfony/Component/RateLimiter/autoload.php';
        require 'Symfony/Component/Cache/autoload.php';
        $config = ['id' => 'web', 'policy' => 'token_bucket', 'limit' => $capacity, 'rate' => ['interval' => '1 second', 'amount' => 1]];
        $storage = new Symfony\Component\RateLimiter\Storage\CacheStorage(new Symfony\Component\Cache\Adapter\ApcuAdapter('web'));
        $locks = %s;
        $passes = (new Symfony\Component\RateLimiter\RateLimiterFactory($config, $storage, $locks))->create($identifier)->consume(1)->isAccepted();
        PHP;
    $laravel = <<<PHP
        require 'Illuminate/Cache/autoload.php';
        require 'Illuminate/Redis/autoload.php';
        \$manager = new Illuminate\Redis\RedisManager(null, 'phpredis', ['default' => ['host' => '$redis->socket', 'port' => 0, 'persistent' => true]]);
        \$limiter = new Illuminate\Cache\RateLimiter(new Illuminate\Cache\Repository(new Illuminate\Cache\RedisStore(\$manager)));
        \$passes = \$limiter->attempt(\$identifier, \$capacity, static fn () => true, 3600);
        PHP;
    return [
        'none' => '$passes = true;',
        'shared-memory' => '$passes = (new TokenBucket(new TokenBucketStorageSharedMemory, $identifier, $capacity, 1))->consume();',
        'redis' => "\$passes = (new TokenBucket(new TokenBucketStorageRedis('unix://$redis->socket', timeout: 5.0, onFailure: TokenBucket\OnFailure::Throw), \$identifier, \$capacity, 1))->consume();",
        'userland' => "require 'userland_apcu.php';"
            . '$passes = (new UserlandTokenBucket(new ApcuStorage, $identifier, $capacity, 1))->consume();',
        'symfony' => sprintf($symfony, 'null'),
        'symfony-locked' => sprintf($symfony, 'new Symfony\Component\Lock\LockFactory(new Symfony\Component\Lock\Store\SemaphoreStore)'),
        'laravel-redis' => $laravel,
    ];
}

/** Requests a script. Returns its status and its output. */
function answer(Nginx $nginx, string $name, string $identifier, int $capacity): array
{
    $context = stream_context_create(['http' => ['ignore_errors' => true, 'timeout' => 10]]);
    $body = file_get_contents(url($nginx, $name, $identifier, $capacity), false, $context);
    return [(int) explode(' ', $http_response_header[0])[1], $body];
}

function url(Nginx $nginx, string $name, string $identifier, int $capacity): string
{
    return "http://127.0.0.1:$nginx->port/$name?identifier=$identifier&capacity=$capacity";
}

/** Checks that a limiter grants at first and then denies. */
function check(Nginx $nginx, string $name): void
{
    $identifier = 'checked' . hrtime(true);
    $answers = [];
    for ($i = 0; $i < 8; $i++) {
        $answers[] = answer($nginx, $name, $identifier, 2);
    }
    must($answers[0] === [200, 'passes'], "$name: " . json_encode($answers[0]));
    must($name === 'none' || in_array([429, 'denied'], $answers, true), "$name does not limit: " . json_encode($answers));
}

/** Sends requests, all of which must be granted. Returns the requests a second. */
function load(Nginx $nginx, string $name): float
{
    $url = escapeshellarg(url($nginx, $name, $name, 1_000_000_000));
    exec(sprintf('ab -q -k -n %d -c %d %s 2>&1', REQUESTS, CLIENTS, $url), $lines);
    $output = implode("\n", $lines);
    $found = preg_match('/^Complete requests:\s+(\d+)\nFailed requests:\s+0$/m', $output, $complete) && preg_match('/^Requests per second:\s+([\d.]+)/m', $output, $rate);
    must($found && (int) $complete[1] === REQUESTS && !str_contains($output, 'Non-2xx'), "$name: $output");
    return (float) $rate[1];
}

/** @return array{granted: int, asked: int} the counters of the extension under this php-fpm */
function counted(Fpm $fpm): array
{
    $status = json_decode($fpm->get("$fpm->folder/status.php"), true);
    return ['granted' => $status['shared_memory']['granted'], 'asked' => $status['remote']['asked']];
}

/** @param array<string, list<float>> $rates the requests a second in each round, by limiter */
function report_rates(array $rates): void
{
    $title = 'nginx and php-fpm';
    Record::title($title);
    printf("%-34s %12s %19s %8s\n", $title, 'requests/s', 'least to most', 'of none');
    foreach ($rates as $name => $of_rounds) {
        $parts = of_rounds($of_rounds);
        $ratio = of_rounds(array_map(fn (float $rate, float $none) => $rate / $none, $of_rounds, $rates['none']));
        printf("%-34s %12.0f %8.0f to %7.0f %8.3f\n", NAMES[$name], ...[...$parts, $ratio[0]]);
        Record::row(NAMES[$name], ['per_second' => $parts, 'beside' => NAMES['none'], 'ratio' => $ratio]);
    }
}

$redis = RedisServer::start();
$fpm = new Fpm(['www' => ['listen.mode' => '0666']], arguments: $argv[1]);
$fpm->script('status', '<?php echo json_encode(TokenBucket\status());');
// Copies the files, because the workers may not be allowed to read this repository.
foreach (['userland_bucket', 'userland_apcu'] as $name) {
    $fpm->script($name, file_get_contents(__DIR__ . "/../testkit/php/$name.php"));
}
foreach (limiters($redis) as $name => $code) {
    $fpm->script($name, sprintf(SCRIPT, $code));
}
$nginx = new Nginx($fpm);
printf("%d rounds of %d requests by ab from %d clients; %d workers, opcache %s\n\n", ROUNDS, REQUESTS, CLIENTS, count($fpm->workers()), str_contains($argv[1], 'opcache') ? 'on' : 'off');
array_map(fn (string $name) => check($nginx, $name), array_keys(NAMES));
// Runs once without measuring, to fill the caches.
array_map(fn (string $name) => load($nginx, $name), array_keys(NAMES));
$before = counted($fpm);
$rates = [];
for ($round = 0; $round < ROUNDS; $round++) {
    $names = array_keys(NAMES);
    shuffle($names);
    foreach ($names as $name) {
        $rates[$name][] = load($nginx, $name);
    }
}
$after = counted($fpm);
must($after['granted'] - $before['granted'] === ROUNDS * REQUESTS, 'not every request used the bucket in shared memory');
must($after['asked'] - $before['asked'] === ROUNDS * REQUESTS, 'not every request contacted Redis');
array_map(fn (string $name) => check($nginx, $name), array_keys(NAMES));
report_rates(array_replace(NAMES, $rates));
$nginx->kill();
