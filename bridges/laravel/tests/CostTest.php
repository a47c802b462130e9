<?php

declare(strict_types=1);

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Web.php';
require_once dirname(__DIR__, 3) . '/tools/testkit/php/servers.php';

/**
 * Compares the requests a second with a limit of the bridge, with Laravel's, and without one. Only
 * scripts/bench runs it.
 */
#[Group('cost')]
final class CostTest extends TestCase
{
    public function testTheBridgeCostsLittle(): void
    {
        $web = Web::optimized();
        $redis = RedisServer::start();
        $disabled = ['TOKENBUCKET_ENABLED' => 'false'];
        $pages = [
            'none' => ['/unlimited', $disabled],
            // A limiter that returns Limit::none().
            'throttle-none' => ['/none', $disabled],
            'bridge' => ['/plenty', []],
            'own' => ['/plenty', $disabled],
            'own-redis' => ['/plenty', $disabled + ['CACHE_DRIVER' => 'redis', 'REDIS_HOST' => $redis->socket, 'REDIS_PORT' => '0']],
        ];
        foreach ($pages as $name => [$path, $environment]) {
            $web->page($name, $path, $web->cacheConfiguration($name, $environment));
            $targets[$name] = "/$name";
        }
        $this->assertNull(cost_error($web->load, $targets));
    }
}
