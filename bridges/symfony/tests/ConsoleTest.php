<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use RedisServer;
use Symfony\Bundle\FrameworkBundle\Console\Application;
use Symfony\Component\Console\Tester\ApplicationTester;
use Symfony\Component\HttpFoundation\Request;

require_once __DIR__ . '/../../../tools/testkit/php/examples.php';
require_once __DIR__ . '/../../../tools/testkit/php/servers.php';

/** Tests the commands of an operator, with bin/console of examples/symfony and of a kernel. */
final class ConsoleTest extends KernelTestCase
{
    private string $folder;

    protected function setUp(): void
    {
        $this->folder = sys_get_temp_dir() . '/tokenbucket-console-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->folder);
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        exec('rm -rf ' . escapeshellarg($this->folder));
    }

    public function testAnOperatorSeesFreesAndBlocksAClient(): void
    {
        self::assertSame([200, 200, 429], $this->requests('alice', 3));
        self::assertSame([0, 'alice: 0 of 2 tokens, the next token in N s'], $this->console('tokenbucket:peek search alice'));
        self::assertSame([0, '0 granted 0 denied shared_memory|2 granted 1 denied shared_memory NAMESPACE|Most denied:|1 denied 6:search-alice shared_memory NAMESPACE'], $this->runScript('bin/tokenbucket', 'list'));
        self::assertSame([0, 'alice: 2 of 2 tokens'], $this->console('tokenbucket:reset search alice'));
        self::assertSame([200, 200, 429], $this->requests('alice', 3));
        $this->console('tokenbucket:reset search alice');
        self::assertSame([0, 'alice: 0 of 2 tokens, the next token in N s'], $this->console('tokenbucket:block search alice 900'));
        self::assertSame([[429], [200]], [$this->requests('alice', 1), $this->requests('bob', 1)]);
        self::assertSame([0, 'alice: 2 of 2 tokens'], $this->console('tokenbucket:reset search alice'));
        self::assertSame([200], $this->requests('alice', 1));
        [$code, $json] = $this->console('tokenbucket:peek search bob --json');
        self::assertSame([0, ['identifier' => 'bob', 'allowed' => true, 'remaining' => 1, 'capacity' => 2, 'retryAfter' => 0]], [$code, array_slice(json_decode($json, true), 0, 5)]);
    }

    public function testAWrongCommandExitsAsTheCommandTokenbucketDoes(): void
    {
        $missing = 'tokenbucket: Not enough arguments (missing: "%s").';
        foreach ([
            'peek' => [2, sprintf($missing, 'limiter')],
            'block search alice' => [2, sprintf($missing, 'seconds')],
            'peek serach alice' => [2, 'tokenbucket: no limiter with buckets has the name serach; the names are search'],
            'block search alice -- -5' => [2, 'tokenbucket: the seconds must be a number greater than 0, -5 given'],
            'block search alice 1e400' => [2, 'tokenbucket: the seconds must be a number greater than 0, 1e400 given'],
            'peek --color' => [2, 'tokenbucket: The "--color" option does not exist.'],
            "peek search \e[31m<info>" => [0, '\x1b[31m<info>: 2 of 2 tokens'],
            "peek \e[31m alice" => [2, 'tokenbucket: no limiter with buckets has the name \x1b[31m; the names are search'],
        ] as $arguments => $expected) {
            $arguments = implode(' ', array_map(escapeshellarg(...), explode(' ', $arguments)));
            self::assertSame($expected, $this->console("tokenbucket:$arguments"), $arguments);
        }
        // The storage is not made for the list of all commands.
        [$code, $display] = $this->console('list tokenbucket --format=json', [], ['APP_ENV' => 'redis', 'TOKEN_BUCKET_DSN' => 'nonsense']);
        self::assertSame([0, 3], [$code, preg_match_all('/"name":"tokenbucket:(block|peek|reset)"/', $display)], $display);
        self::assertSame(2, $this->console('tokenbucket:peek search alice', [], ['APP_ENV' => 'redis', 'TOKEN_BUCKET_DSN' => 'nonsense'])[0]);
        self::assertSame([1, 'tokenbucket: tokenbucket.shm_path is not set, so this process does not share the buckets of the site'], $this->console('tokenbucket:peek search alice', ['tokenbucket.shm_path' => '']));
    }

    public function testAStoreThatFailsIsReported(): void
    {
        // Without Redis, a storage from the DSN throws, but the application's own storage decides
        // locally.
        $this->kernel = new TestKernel(self::LIMITERS, ['dsn' => 'redis://user:secret@127.0.0.1:1']);
        [$code, $display] = $this->command(['tokenbucket:reset', 'limiter' => 'api', 'key' => 'x']);
        self::assertSame(1, $code);
        self::assertStringStartsWith('tokenbucket: ', $display);
        self::assertDoesNotMatchRegularExpression('/secret|not available/', $display);
        [$code, $display] = $this->console('tokenbucket:reset search alice', [], ['APP_ENV' => 'redis', 'TOKEN_BUCKET_DSN' => 'unix:///nonexistent/redis.sock']);
        self::assertSame(1, $code);
        self::assertStringEndsWith('|tokenbucket: the store is not available', $display);
    }

    public function testFreesAClientOnRedis(): void
    {
        $redis = RedisServer::start();
        // Redis may reply slowly on a busy machine.
        $variables = ['APP_ENV' => 'redis', 'TOKEN_BUCKET_DSN' => "unix://$redis->socket", 'TOKEN_BUCKET_TIMEOUT' => '10'];
        self::assertSame([200, 200, 429], $this->requests('alice', 3, $variables));
        self::assertSame([0, 'alice: 2 of 2 tokens'], $this->console('tokenbucket:reset search alice', [], $variables));
        self::assertSame([200, 200, 429], $this->requests('alice', 3, $variables));
    }

    public function testAnOperatorFreesALogin(): void
    {
        $this->start(['except' => ['mine'], 'quotas' => ['daily' => null]], [
            'daily' => ['policy' => 'fixed_window', 'limit' => 2, 'interval' => '1 day', 'lock_factory' => null],
            'api' => ['policy' => 'token_bucket', 'limit' => 3, 'rate' => ['interval' => '1 hour'], 'lock_factory' => null],
            'mine' => ['policy' => 'fixed_window', 'limit' => 3, 'interval' => '1 hour', 'lock_factory' => null],
            'free' => ['policy' => 'no_limit', 'limit' => 1, 'lock_factory' => null],
        ]);
        array_map(fn () => $this->login('alice', 'wrong'), range(1, 3));
        self::assertSame(401, $this->login('alice', 'right'));
        self::assertSame([0, 'Alice-192.0.2.7: 0 of 3 tokens, the next token in 1200.0 s'], $this->command(['tokenbucket:peek', 'limiter' => '_login_local_main', 'key' => 'Alice-192.0.2.7']));
        self::assertSame([0, '192.0.2.7: 12 of 15 tokens'], $this->command(['tokenbucket:peek', 'limiter' => '_login_global_main', 'key' => '192.0.2.7']));
        self::assertSame([0, 'Alice-192.0.2.7: 3 of 3 tokens'], $this->command(['tokenbucket:reset', 'limiter' => '_login_local_main', 'key' => 'Alice-192.0.2.7']));
        self::assertSame(200, $this->login('alice', 'right'));
        self::assertSame([0, '192.0.2.7: 0 of 15 tokens, the next token in 900.0 s'], $this->command(['tokenbucket:block', 'limiter' => '_login_global_main', 'key' => '192.0.2.7', 'seconds' => '900']));
        self::assertSame(401, $this->login('bob', 'right'));
        // A quota, and a limiter without a key.
        $this->factory('daily')->create()->consume(2);
        $this->memory()->advance(86399);
        self::assertSame([0, ': 0 of 2 tokens, the next token in 1.0 s'], $this->command(['tokenbucket:peek', 'limiter' => 'daily']));
        self::assertSame([0, ': 2 of 2 tokens'], $this->command(['tokenbucket:reset', 'limiter' => 'daily']));
        self::assertTrue($this->factory('daily')->create()->consume(2)->isAccepted());
        self::assertSame([2, 'tokenbucket: the limiter free limits nothing'], $this->command(['tokenbucket:peek', 'limiter' => 'free', 'key' => 'x']));
        self::assertStringStartsWith('tokenbucket: no limiter with buckets has the name mine; the names are daily, api, free, _login_', $this->command(['tokenbucket:peek', 'limiter' => 'mine', 'key' => 'x'])[1]);
    }

    public function testALoginsKeyHasTheAddressAsTheRequestHasIt(): void
    {
        $this->start();
        $limiter = $this->kernel->getContainer()->get('security.login_throttling.main.limiter');
        foreach (['192.0.2.7' => 'Alice', '2001:DB8::1' => 'ALIÇE', '2001:db8::1' => 'Mary-Ann', '2001:dB8::2' => "ALI\xe7E", '2001:dB8::3' => ''] as $address => $name) {
            $request = Request::create('/login', server: ['REMOTE_ADDR' => $address]);
            $request->attributes->set('_security.last_username', $name);
            $limiter->consume($request);
            foreach (['local' => ["$name-$address", 3], 'global' => [$address, 15]] as $limit => [$key, $capacity]) {
                $client = fn (string $action) => $this->command(["tokenbucket:$action", 'limiter' => "_login_{$limit}_main", 'key' => $key, '--json' => true])[1];
                self::assertSame($capacity - 1, json_decode($client('peek'), true)['remaining'], $key);
                self::assertSame($capacity, json_decode($client('reset'), true)['remaining'], $key);
            }
            self::assertSame(2, $limiter->consume($request)->getRemainingTokens(), $key);
        }
    }

    /** @return array{int, string} the exit status and the output of a command of the kernel */
    private function command(array $input): array
    {
        $application = new Application($this->kernel);
        $application->setAutoExit(false);
        $tester = new ApplicationTester($application);
        $code = $tester->run(['command' => $input[0]] + array_slice($input, 1));
        return [$code, trim($tester->getDisplay(true), "\n")];
    }

    /**
     * Runs bin/console of the example, whose limit is two.
     *
     * @param array<string, string> $ini
     * @param array<string, string> $variables of the environment
     * @return array{int, string} the exit status and the output
     */
    private function console(string $arguments, array $ini = [], array $variables = []): array
    {
        return $this->runScript('examples/symfony/bin/console', $arguments, $ini, $variables);
    }

    private function runScript(string $script, string $arguments, array $ini = [], array $variables = []): array
    {
        exec($this->php($ini, $variables) . ' ' . escapeshellarg(dirname(__DIR__, 3) . "/$script") . " $arguments 2>&1", $lines, $code);
        $lines = preg_replace(['/^ +/', '/ {2,}/', '/[\d.]+ s$/', '/shared_memory [0-9a-f]{12}$/'], ['', ' ', 'N s', 'shared_memory NAMESPACE'], $lines);
        return [$code, implode('|', array_filter($lines, fn (string $line) => $line !== ''))];
    }

    /** @return list<int> the statuses of requests of another process, as a worker handles them */
    private function requests(string $key, int $count, array $variables = []): array
    {
        $code = sprintf('require $_SERVER["APP_AUTOLOAD"]; $kernel = new App\Kernel($_SERVER["APP_ENV"], false);
            for ($i = 0; $i < %d; $i++) { $statuses[] = $kernel->handle(Symfony\Component\HttpFoundation\Request::create("/?key=%s"))->getStatusCode(); }
            echo json_encode($statuses);', $count, $key);
        exec($this->php([], $variables) . ' -r ' . escapeshellarg($code), $output);
        return json_decode(implode($output), true);
    }

    private function php(array $ini = [], array $variables = []): string
    {
        $variables += ['APP_ENV' => 'prod', 'APP_CACHE_DIR' => $this->folder, 'APP_AUTOLOAD' => __DIR__ . '/autoload_example.php', 'SEARCH_LIMIT' => '2'];
        $assignments = array_map(fn (string $name, string $value) => escapeshellarg("$name=$value"), array_keys($variables), $variables);
        return 'env ' . implode(' ', $assignments) . ' ' . escapeshellarg(PHP_BINARY) . ' ' . example_arguments(['ctype', 'iconv', 'mbstring', 'tokenizer'], $ini + ['tokenbucket.shm_path' => "$this->folder/segment", 'tokenbucket.track_identifiers' => '1', 'variables_order' => 'EGPCS', 'display_errors' => 'stderr']);
    }
}
