<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\WordPress\Tests;

use Apache;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Depends;

require_once __DIR__ . '/GuardedServer.php';
require_once __DIR__ . '/SiteTestCase.php';

/** Tests the guard, without the plugin, on a site and on a network of sites. */
final class GuardTest extends SiteTestCase
{
    protected const SETTINGS = 'const WITHOUT_PLUGIN = true;';
    private const TRUSTED = ['tokenbucket.guard_trusted_proxies' => '127.0.0.1'];
    /** Limits as on a site. No token is refilled before the test ends. */
    private const GUARD = ['tokenbucket.guard' => 'ip 300/day burst 100; on /wp-login.php ip 5/hour block 15 minutes; on /xmlrpc.php ip 10/day'] + self::TRUSTED;

    private ?GuardedServer $server = null;

    protected function tearDown(): void
    {
        $this->server?->stop();
        // Not every machine has a system log for the records of blocks.
        self::assertSame('', preg_replace('~^.* guard: a block was not written to /dev/log: .*\n~m', '', self::$site->errors()));
    }

    /**
     * Returns the servers for a flood. A short run leaves php-cgi out, because it compiles
     * WordPress for each request.
     */
    public static function servers(): iterable
    {
        $slow = self::isShort() ? ['php-cgi'] : [];
        foreach (array_diff(Apache::is_installed() ? GuardedServer::ALL : [GuardedServer::NGINX], $slow) as $name) {
            yield $name => [$name];
        }
    }

    /** Returns the servers for many requests. php-cgi would be too slow. */
    public static function fastServers(): iterable
    {
        foreach (self::servers() as $name => $server) {
            if ($name === GuardedServer::NGINX || (!self::isShort() && $name !== 'php-cgi')) {
                yield $name => $server;
            }
        }
    }

    private static function isShort(): bool
    {
        return getenv('BRIDGES') === 'short';
    }

    #[DataProvider('servers')]
    public function testAFloodIsVerifiedAsOftenAsTheGuardAllows(string $server): void
    {
        $this->guard($server, self::GUARD);
        foreach ([[5, Site::form(...)], [10, Site::xmlRpc(...)]] as [$allowed, $request]) {
            $guess = fn (int $i) => $request('owner', "wrong $i", '192.0.2.1');
            // Other visitors come during the flood.
            $visitors = self::requests(4, fn (int $i) => ['path' => '/', 'address' => "198.51.100.$i"]);
            $visitors[] = $request('owner', 'right password', '198.51.100.9');
            $requests = array_map(fn (array $visitor) => [$visitor, ...self::requests(8, $guess)], $visitors);
            self::$site->count();
            $responses = array_chunk(self::$site->send(array_merge(...$requests)), 9);
            $flooded = array_map(fn (array $of_both) => array_slice($of_both, 1), $responses);
            $visited = array_column(array_column($responses, 0), 'status');
            self::assertSame([200 => $allowed, 429 => 40 - $allowed], self::statuses(array_merge(...$flooded)));
            self::assertSame([200, 200, 200, 200], array_slice($visited, 0, 4), 'other visitors');
            self::assertContains($visited[4], [200, 302], 'the login of another visitor');
            self::assertSame($allowed + 1, self::$site->count(), 'verified passwords');
            [$right] = self::assertAnswers([429 => 1], 0, [$request('owner', 'right password', '192.0.2.1')]);
            self::assertMatchesRegularExpression('/^Retry-After: [1-9]\d*\r?$/mi', $right['head']);
            self::assertSame("Too many requests.\n", $right['body']);
        }
        self::assertAnswers([200 => 1], 0, [['path' => '/', 'address' => '192.0.2.1']], 'other pages of the client');
    }

    public function testLoopbackRequestsCountForTheAddressOfTheHost(): void
    {
        $loopback = 'return wp_remote_retrieve_response_code(wp_remote_post(site_url("wp-cron.php?doing_wp_cron=1")));';
        foreach (['' => [200, 200, 429], '127.0.0.1' => [200, 200, 200]] as $allowed => $statuses) {
            $this->guard(GuardedServer::NGINX, ['tokenbucket.guard' => 'on /wp-cron.php ip 2/day', 'tokenbucket.guard_allow' => $allowed]);
            $flood = self::requests(5, fn () => ['path' => '/wp-cron.php?doing_wp_cron=1', 'address' => '192.0.2.4']);
            self::assertSame([200 => 2, 429 => 3], self::statuses(self::$site->send($flood)));
            self::assertSame($statuses, array_map(fn () => self::$site->run($loopback), range(1, 3)), "allowed: $allowed");
            $this->server->stop();
        }
    }

    public function testASiteBecomesANetwork(): void
    {
        self::$site->makeNetwork();
        self::assertIsInt(self::$site->run('return wpmu_create_blog("localhost", "/second/", "Second", 1);'));
    }

    #[Depends('testASiteBecomesANetwork')]
    #[DataProvider('fastServers')]
    public function testNoRequestOfANetworkPassesTheLimitOfAPage(string $server): void
    {
        $pages = ['wp-login.php' => Site::form(...), 'xmlrpc.php' => Site::xmlRpc(...)];
        if (!self::isShort()) {
            $this->guard($server, self::TRUSTED);
            foreach ($pages as $page => $request) {
                self::$site->count();
                self::$site->send(self::spellings($page, $request('owner', 'wrong', '192.0.2.5')));
                self::assertGreaterThan(30, self::$site->count(), 'without limits');
                // WordPress verifies no password if the request has a method other than POST.
                self::$site->send(self::otherMethods($request('owner', 'wrong', '192.0.2.5')));
                self::assertSame(0, self::$site->count());
            }
            $this->server->stop();
        }
        $this->guard($server, ['tokenbucket.guard' => 'on /wp-login.php ip 1/day; on /xmlrpc.php ip 1/day'] + self::TRUSTED);
        foreach ($pages as $page => $request) {
            $guess = $request('owner', 'wrong', '192.0.2.5');
            self::assertAnswers([200 => 1], 1, [$guess]);
            self::$site->send([...self::spellings($page, $guess), ...self::otherMethods($guess)]);
            self::assertSame(0, self::$site->count(), $page);
        }
    }

    /** Returns variants of a request for a page. Each of them may reach the page, too. */
    private static function spellings(string $page, array $request): array
    {
        $escaped = sprintf('%%%02x', ord($page[0])) . substr($page, 1);
        $paths = [
            "/$page?x", "/$page#x", "//$page", "/./$page", "/x/../$page", "/%2e/$page", "/x/%2e%2e/$page", "/x/..%2f$page", "/wp-admin/../$page",
            "/$escaped", '/' . str_replace('.', '%2e', $page), '/' . str_replace('.php', '.ph%70', $page), "/%2f$page", "/$page%00",
            "/$page/", "/$page/x", "/$page/x.php", "/$page/..", "/$page/../$page", "/$page/index.php", "/$page//x//", "/$page;x", "/$page%3Fx", "/$page%3Fx.php",
            "/$page%20", "/$page.", "/$page%0a", '/' . strtoupper($page), '/' . basename($page, '.php'), "/\\$page",
            "/second/$page", "/second//$page", "/other/$page", "/second/%2e/$page/x", "/second/$escaped/x.php", "/second/other/$page", "/wp-admin/$page", "/a.php/$page",
            "/index.php/$page", "/index.php?$page", "/index.php?pagename=$page", "/?rest_route=/$page", "/second/?name=$page",
            "http://other.example/$page", "HTTP://a:b@[::1]:80//$page?/x", "//other.example/$page", $page, "?/$page", '*',
        ];
        $requests = array_map(fn (string $path) => ['path' => $path] + $request, $paths);
        foreach (['other.example', 'LOCALHOST', 'localhost.', 'localhost:81', '127.0.0.1', '[::1]'] as $host) {
            $requests[] = ['host' => $host] + $request;
        }
        foreach (['X-Forwarded-Host', 'X-Real-IP', 'Client-IP', 'Forwarded', 'True-Client-IP', 'X-Original-URL', 'X-Rewrite-URL', 'Request-Uri', 'Script-Name', 'Remote-Addr', 'Proxy', 'Tokenbucket-Received', 'Connection'] as $name) {
            $requests[] = ['lines' => [...$request['lines'], "$name: 203.0.113.9"]] + $request;
        }
        $requests[] = ['address' => '203.0.113.10, 192.0.2.5'] + $request;
        $requests[] = ['lines' => [...$request['lines'], 'Transfer-Encoding: chunked']] + $request;
        return $requests;
    }

    /** Returns the request with other methods, and with header fields that override the method. */
    private static function otherMethods(array $request): array
    {
        $override = ['lines' => [...$request['lines'], 'X-HTTP-Method-Override: POST', 'X-HTTP-Method: POST', 'X-Method-Override: POST']];
        $requests = [];
        foreach (['GET', 'PUT', 'post', 'PATCH', 'OPTIONS', 'GET ', 'X'] as $method) {
            array_push($requests, ['method' => $method] + $request, ['method' => $method] + $override + $request);
        }
        return $requests;
    }

    private function guard(string $server, array $ini): void
    {
        $this->server = new GuardedServer(self::$site, $server, $ini);
    }
}
