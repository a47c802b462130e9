<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use Load;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/cost.php';

/**
 * Compares the requests a second with a limit of the bridge, with Symfony's, and without one. Only
 * scripts/bench runs it.
 */
#[Group('cost')]
final class CostTest extends TestCase
{
    public function testTheBridgeCostsLittle(): void
    {
        $server = ExampleServer::optimized();
        try {
            $load = new Load($server->fpm, $server->nginx->port);
            self::assertNull(cost_error($load, ['none' => '/unlimited?key=a', 'bridge' => '/prod?key=a', 'own' => '/plain?key=a']));
        } finally {
            $server->stop();
        }
    }
}
