<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Laravel\Tests;

use Illuminate\Auth\AuthServiceProvider;
use Illuminate\Auth\GenericUser;
use Illuminate\Cache\RateLimiter as LaravelRateLimiter;
use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Contracts\Auth\UserProvider;
use Illuminate\Contracts\Console\Kernel;
use Illuminate\Support\Facades\Route;
use OutOfBoundsException;
use TokenBucketStorage;
use TokenBucketStorageRedis;

require_once dirname(__DIR__, 3) . '/tools/testkit/php/examples.php';

/** Tests the commands of an operator, with artisan of the example and in this process. */
final class ConsoleTest extends BridgeTestCase
{
    private ?string $folder = null;

    protected function tearDown(): void
    {
        parent::tearDown();
        if ($this->folder !== null) {
            exec('rm -rf ' . escapeshellarg($this->folder));
        }
    }

    public function testAnOperatorSeesFreesAndBlocksAClient(): void
    {
        $this->makeFolder();
        $this->assertSame([200 => 100, 429 => 1], $this->requests('192.0.2.7', 101));
        $this->assertSame([0, '192.0.2.7: 0 of 100 tokens, the next token in N s'], $this->callArtisan('tokenbucket:peek downloads 192.0.2.7'));
        $list = $this->runScript(dirname(__DIR__, 3) . '/bin/tokenbucket', 'list');
        $this->assertMatchesRegularExpression('/^100 granted 1 denied shared_memory NAMESPACE\|Most denied:\|1 denied limit:0::\w+ shared_memory NAMESPACE$/', $list[1]);
        $this->assertSame([0, '192.0.2.7: 100 of 100 tokens'], $this->callArtisan('tokenbucket:reset downloads 192.0.2.7'));
        $this->assertSame([200 => 1], $this->requests('192.0.2.7', 1));
        $this->assertSame([0, '192.0.2.7: 0 of 100 tokens, the next token in N s'], $this->callArtisan('tokenbucket:block downloads 192.0.2.7 900'));
        $this->assertSame([[429 => 1], [200 => 1]], [$this->requests('192.0.2.7', 1), $this->requests('192.0.2.8', 1)]);
        $this->assertSame([0, '192.0.2.7: 100 of 100 tokens'], $this->callArtisan('tokenbucket:reset downloads 192.0.2.7'));
        $this->assertSame([200 => 1], $this->requests('192.0.2.7', 1));
        [$code, $json] = $this->callArtisan('tokenbucket:peek downloads 192.0.2.8 --json');
        $this->assertSame([0, ['identifier' => '192.0.2.8', 'allowed' => true, 'remaining' => 99, 'capacity' => 100]], [$code, array_slice(json_decode($json, true), 0, 4)]);
    }

    public function testAWrongCommandExitsAsTheCommandTokenbucketDoes(): void
    {
        $this->makeFolder();
        foreach ([
            'peek download 192.0.2.7' => [2, 'tokenbucket: no limiter has the name download'],
            'peek none 192.0.2.7' => [2, 'tokenbucket: no limit of none depends on 192.0.2.7'],
            'peek downloads bob' => [2, 'tokenbucket: no user has the id bob; name the input or header of other keys with --field'],
            'peek downloads bob --field=email' => [2, 'tokenbucket: no limit of downloads depends on bob'],
            'peek RateLimiter bob' => [2, 'tokenbucket: no bucket is known for the key bob; declare its attempts and seconds in tokenbucket.limits'],
        ] as $arguments => $expected) {
            $arguments = implode(' ', array_map(escapeshellarg(...), explode(' ', $arguments)));
            $this->assertSame($expected, $this->callArtisan("tokenbucket:$arguments"), $arguments);
        }
        $this->assertSame(1, $this->callArtisan('tokenbucket:peek downloads 192.0.2.7', ['tokenbucket.shm_path' => ''])[0]);
        [$code, $display] = $this->callArtisan('tokenbucket:reset downloads 192.0.2.7', [], ['TOKENBUCKET_STORAGE' => 'redis://user:secret@127.0.0.1:1']);
        $this->assertSame([1, true], [$code, str_starts_with($display, 'tokenbucket: ')]);
        $this->assertDoesNotMatchRegularExpression('/secret|until it recovers|not available/', $display);
        [$code, $display] = $this->callArtisan('list tokenbucket --format=json');
        $this->assertSame([0, 3], [$code, preg_match_all('/"name":"tokenbucket:(block|peek|reset)"/', $display)]);
    }

    public function testFreesTheLimitsThatDependOnTheClient(): void
    {
        $this->limiter()->for('login', fn ($request) => [
            Limit::perMinute(500),
            Limit::perMinute(3)->by($request->input('email')),
            Limit::perHour(4)->by($request->input('email') . '|' . $request->ip()),
        ]);
        Route::post('/login', fn () => 'yes')->middleware('throttle:login');
        $login = fn (string $email) => $this->post('/login', ['email' => $email])->getStatusCode();
        $this->assertSame([200, 200, 200, 429], array_map($login, array_fill(0, 4, 'a@b.test')));
        $this->assertSame([0, "a@b.test: 0 of 3 tokens, the next token in 20.0 s\na@b.test: 4 of 4 tokens"], $this->command('peek', 'login', 'a@b.test', ['--field' => 'email']));
        $this->assertSame([0, "a@b.test: 0 of 3 tokens, the next token in 20.0 s\na@b.test: 1 of 4 tokens"], $this->command('peek', 'login', 'a@b.test', ['--field' => 'email', '--ip' => '127.0.0.1']));
        $this->assertSame(0, $this->command('reset', 'login', 'a@b.test', ['--field' => 'email', '--ip' => '127.0.0.1'])[0]);
        $this->assertSame(200, $login('a@b.test'));
        // Each of four logins has taken a token of the limit that all clients share.
        $this->assertSame(496, $this->limiter()->remaining(md5('login'), 500));
        $this->assertSame([2, 'tokenbucket: no limit of login depends on x'], $this->command('peek', 'login', 'x', ['--field' => 'name']));
    }

    public function testLimitsThatAllClientsMayShareStayAsTheyAre(): void
    {
        $team = fn ($request) => ['42' => 5, '43' => 5][$request->header('team')] ?? null;
        $limits = fn ($request) => [Limit::perMinute(1000)->by('everybody'), Limit::perMinute($team($request))->by($request->header('team'))];
        $this->limiter()->for('fails', fn ($request) => $team($request) === null ? throw new OutOfBoundsException() : $limits($request));
        $this->limiter()->for('refuses', fn ($request) => $team($request) === null ? response('', 404) : $limits($request));
        $this->limiter()->for('others', fn ($request) => $team($request) === null ? Limit::perMinute(1)->by($request->ip()) : $limits($request));
        $this->limiter()->for('guests', fn ($request) => $team($request) === null ? [Limit::perMinute(100)->by('guests'), Limit::perMinute(1)->by($request->ip())] : $limits($request));
        foreach (['fails', 'refuses', 'others', 'guests'] as $limiter) {
            $this->route("throttle:$limiter", "/$limiter");
            $client = fn (string $action, array $input = []) => $this->command($action, $limiter, '42', ['--field' => 'team'] + $input);
            $get = fn (string $team) => $this->withHeader('team', $team)->get("/$limiter")->getStatusCode();
            $refusal = [1, "tokenbucket: the limiter $limiter has no such limits for an unknown client, so some may be those of all clients; choose one with --capacity=1000 or --capacity=5"];
            $this->assertSame([$refusal, 200, 200], [$client('block', ['seconds' => '90']), $get('42'), $get('43')]);
            $this->assertSame([0, "42: 998 of 1000 tokens\n42: 4 of 5 tokens"], $client('peek'));
            $this->assertSame([$refusal, [0, '42: 4 of 5 tokens']], [$client('reset'), $client('peek', ['--capacity' => '5'])]);
            $this->assertSame([0, '42: 0 of 5 tokens, the next token in 90.0 s'], $client('block', ['seconds' => '90', '--capacity' => '5']));
            $this->assertSame([429, 200], [$get('42'), $get('43')]);
            $this->assertSame([0, '42: 5 of 5 tokens'], $client('reset', ['--capacity' => '5']));
            $this->assertSame([2, "tokenbucket: no limit of $limiter has the capacity 6"], $client('peek', ['--capacity' => '6']));
        }
    }

    public function testTheOnlyLimitOfALimiterThatFailsForOthersIsTheClients(): void
    {
        $this->limiter()->for('team', fn ($request) => Limit::perMinute(['42' => 5][$request->header('team')])->by($request->header('team')));
        $this->assertSame([0, '42: 0 of 5 tokens, the next token in 90.0 s'], $this->command('block', 'team', '42', ['--field' => 'team', 'seconds' => '90']));
    }

    public function testACapacityChoosesOneOfTheClientsLimits(): void
    {
        $this->limiter()->for('two', fn ($request) => [Limit::perMinute(5), Limit::perMinute(3)->by($request->ip()), Limit::perHour(20)->by($request->ip())]);
        $this->assertSame([0, "192.0.2.7: 3 of 3 tokens\n192.0.2.7: 20 of 20 tokens"], $this->command('peek', 'two', '192.0.2.7'));
        $this->assertSame([0, '192.0.2.7: 20 of 20 tokens'], $this->command('peek', 'two', '192.0.2.7', ['--capacity' => '20']));
        $this->assertSame([2, 'tokenbucket: no limit of two depends on 192.0.2.7'], $this->command('block', 'two', '192.0.2.7', ['--capacity' => '5', 'seconds' => '90']));
    }

    public function testFindsTheLimitsOfNumbersHeadersAndKeys(): void
    {
        $this->route('throttle:2,1', '/numbers');
        $this->assertAnswer(200, 2, 1, path: '/numbers');
        $this->assertSame([0, '127.0.0.1: 1 of 2 tokens'], $this->command('peek', '2,1', '127.0.0.1'));
        $this->assertSame([0, '127.0.0.1: 0 of 2 tokens, the next token in 90.0 s'], $this->command('block', '2,1', '127.0.0.1', ['seconds' => '90']));
        $this->assertAnswer(429, 2, 0, 90, '/numbers');
        $this->assertSame([0, '192.0.2.7: 2 of 2 tokens'], $this->command('peek', '2,1', '192.0.2.7'));
        $this->limiter()->for('tokens', fn ($request) => Limit::perMinute(2)->by($request->header('X-Api-Key')));
        $this->route('throttle:tokens', '/tokens');
        $this->withHeader('X-Api-Key', 'abc')->get('/tokens');
        $this->assertSame([0, 'abc: 1 of 2 tokens'], $this->command('peek', 'tokens', 'abc', ['--field' => 'X-Api-Key']));
        $this->limiter()->attempt('send:josé', 2, fn () => true);
        $this->assertSame([0, 'send:jose: 1 of 2 tokens'], $this->command('peek', 'RateLimiter', 'send:jose'));
        $this->assertSame([0, 'send:jose: 2 of 2 tokens'], $this->command('reset', 'RateLimiter', 'send:jose'));
        $this->assertSame(0, $this->limiter()->attempts('send:josé'));
    }

    public function testFindsTheLimitsOfAUser(): void
    {
        $this->app['config']->set(['auth.defaults.guard' => 'api', 'auth.guards.api' => ['driver' => 'test', 'provider' => 'users'], 'auth.providers.users' => ['driver' => 'test']]);
        $this->app->register(AuthServiceProvider::class);
        $users = $this->createStub(UserProvider::class);
        $users->method('retrieveById')->willReturnCallback(fn ($id) => in_array($id, ['7', '8'], true) ? new GenericUser(['id' => (int) $id, 'limit' => 10 * (int) $id]) : null);
        $this->app['auth']->provider('test', fn () => $users);
        $this->app['auth']->viaRequest('test', fn ($request) => $users->retrieveById($request->query('user')));
        // The limiter fails without a user.
        $this->limiter()->for('plan', fn ($request) => [Limit::perMinute(500), Limit::perMinute($request->user()->limit)->by($request->user()->id)]);
        $this->route('throttle:plan', '/plan');
        $this->route('throttle:2,1', '/numbers');
        $this->assertAnswer(200, 70, 69, path: '/plan?user=7');
        $this->assertAnswer(200, 2, 1, path: '/numbers?user=7');
        $this->assertSame([0, '7: 69 of 70 tokens'], $this->command('peek', 'plan', '7'));
        $this->assertSame([0, '8: 80 of 80 tokens'], $this->command('peek', 'plan', '8'));
        $this->assertSame([0, '7: 1 of 2 tokens'], $this->command('peek', '2,1', '7'));
        $this->assertSame([2, 'tokenbucket: no user has the id 9; name the input or header of other keys with --field'], $this->command('peek', 'plan', '9'));
        [$code, $display] = $this->command('peek', 'plan', '192.0.2.7');
        $this->assertSame([1, true], [$code, str_starts_with($display, 'tokenbucket: the limiter plan needs another request: ')]);
    }

    public function testAStoreThatFailsIsReported(): void
    {
        $this->app->instance(TokenBucketStorage::class, new TokenBucketStorageRedis('unix:///nonexistent/redis.sock'));
        $this->limiter()->for('api', fn ($request) => Limit::perMinute(3)->by($request->ip()));
        $this->assertSame([1, 'tokenbucket: the store is not available'], $this->command('reset', 'api', '192.0.2.7'));
    }

    public function testALimiterOfTheApplicationHasNoBuckets(): void
    {
        $this->app->extend(LaravelRateLimiter::class, fn () => new LaravelRateLimiter($this->app->make('cache')->driver()));
        $this->assertSame([2, 'tokenbucket: the application has a limiter of its own, without buckets'], $this->command('peek', 'api', '192.0.2.7'));
    }

    public function testTheBridgesHaveTheSameClasses(): void
    {
        $symfonys = dirname(__DIR__, 2) . '/symfony/src/Console';
        foreach (['Failure', 'OperatorCommand'] as $class) {
            $this->assertSame(strtr(file_get_contents("$symfonys/$class.php"), ['Bridge\Symfony' => 'Bridge\Laravel']), file_get_contents(dirname(__DIR__) . "/src/Console/$class.php"));
        }
    }

    /** @return array{int, string} the exit status and the output of a command in this process */
    private function command(string $action, string $limiter, string $key, array $input = []): array
    {
        $kernel = $this->app->make(Kernel::class);
        $code = $kernel->call("tokenbucket:$action", ['limiter' => $limiter, 'key' => $key] + $input);
        return [$code, trim($kernel->output(), "\n")];
    }

    /**
     * Runs artisan of the example.
     *
     * @param array<string, string> $ini
     * @param array<string, string> $variables of the environment
     * @return array{int, string} the exit status and the output
     */
    private function callArtisan(string $arguments, array $ini = [], array $variables = []): array
    {
        return $this->runScript(APPLICATION . '/artisan', $arguments, $ini, $variables);
    }

    private function runScript(string $script, string $arguments, array $ini = [], array $variables = []): array
    {
        exec($this->php($ini, $variables) . ' ' . escapeshellarg($script) . " $arguments 2>&1", $lines, $code);
        $lines = preg_replace(['/^ +/', '/ {2,}/', '/[\d.]+ s$/', '/shared_memory tokenbucket:example_\w+:$/'], ['', ' ', 'N s', 'shared_memory NAMESPACE'], $lines);
        return [$code, implode('|', array_filter($lines, fn (string $line) => $line !== ''))];
    }

    /** @return array<int, int> the number of responses by status, of requests of another process */
    private function requests(string $address, int $count, array $variables = []): array
    {
        $code = sprintf('require %s . "/vendor/autoload.php"; $kernel = (require %1$s . "/bootstrap/app.php")->make(Illuminate\Contracts\Http\Kernel::class);
            for ($i = 0; $i < %d; $i++) { $statuses[] = $kernel->handle(Illuminate\Http\Request::create("/downloads", server: ["REMOTE_ADDR" => "%s", "HTTP_ACCEPT" => "application/json"]))->getStatusCode(); }
            echo json_encode(array_count_values($statuses));', var_export(APPLICATION, true), $count, $address);
        exec($this->php([], $variables) . ' -r ' . escapeshellarg($code), $output);
        return json_decode(implode($output), true);
    }

    private function php(array $ini = [], array $variables = []): string
    {
        $assignments = array_map(fn (string $name, string $value) => escapeshellarg("$name=$value"), array_keys($variables), $variables);
        return 'env -u APP_ENV CACHE_DRIVER=array ' . implode(' ', $assignments) . ' ' . escapeshellarg(PHP_BINARY) . ' ' . example_arguments(['ctype', 'dom', 'mbstring', 'tokenizer', 'igbinary', 'redis'], $ini + ['tokenbucket.shm_path' => "$this->folder/segment", 'tokenbucket.track_identifiers' => '1', 'display_errors' => 'stderr']);
    }

    private function makeFolder(): void
    {
        $this->folder = sys_get_temp_dir() . '/tokenbucket-artisan-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->folder);
    }
}
