<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Web.php';

/** Compares the requests a second with a limit of the bridge, with Laravel's, and without one. */
final class Cost extends TestCase
{
    private const ROUNDS = 9;
    private const REQUESTS = 300;

    public function testCost(): void
    {
        $web = new Web();
        $pages = [
            'none' => ['/unlimited', ['TOKENBUCKET_ENABLED' => 'false']],
            'throttle-none' => ['/none', ['TOKENBUCKET_ENABLED' => 'false']],
            'bridge' => ['/plenty', []],
            'laravel-file' => ['/plenty', ['TOKENBUCKET_ENABLED' => 'false']],
            'laravel-redis' => ['/plenty', ['TOKENBUCKET_ENABLED' => 'false', 'CACHE_DRIVER' => 'redis', 'REDIS_HOST' => $this->redis()->socket, 'REDIS_PORT' => '0']],
        ];
        foreach ($pages as $name => [$path, $environment]) {
            $web->page($name, $path, $environment);
            $web->load($name, self::REQUESTS);
        }
        $rates = $cpu = [];
        for ($round = 0; $round < self::ROUNDS; $round++) {
            $names = array_keys($pages);
            shuffle($names);
            foreach ($names as $name) {
                $result = $web->load($name, self::REQUESTS);
                $this->assertSame(self::REQUESTS, $result['passed'], $name);
                $rates[$name][] = $result['per_second'];
                $cpu[$name] = ($cpu[$name] ?? 0) + $result['cpu'];
            }
        }
        foreach ($pages as $name => $_) {
            $ratios = array_map(fn (float $bridge, float $rate) => $bridge / $rate, $rates['bridge'], $rates[$name]);
            fprintf(
                STDERR,
                "%-14s %6.0f requests/s, the bridge is %.3f of it; %.3f ms CPU, the bridge serves %.3f of the requests\n",
                $name,
                self::median($rates[$name]),
                self::median($ratios),
                1000 * $cpu[$name] / self::ROUNDS / self::REQUESTS,
                $cpu[$name] / $cpu['bridge'],
            );
        }
    }

    private function redis(): RedisServer
    {
        require_once dirname(__DIR__, 3) . '/testkit/php/servers.php';
        return RedisServer::start();
    }

    private static function median(array $numbers): float
    {
        sort($numbers);
        return $numbers[intdiv(count($numbers), 2)];
    }
}
