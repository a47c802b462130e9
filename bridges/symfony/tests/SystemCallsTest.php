<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/strace.php';

/**
 * Counts the system calls of requests with a limit of the bridge, with Symfony's, and without one.
 */
final class SystemCallsTest extends TestCase
{
    public function testALimitInSharedMemoryMakesNoSystemCalls(): void
    {
        if (!has_strace()) {
            self::markTestSkipped('strace cannot trace processes here');
        }
        // These limits deny nothing.
        $server = new ExampleServer(['SEARCH_LIMIT' => '1000000000'], isOptimized: true);
        try {
            foreach (['unlimited', 'prod', 'plain'] as $environment) {
                $calls[$environment] = count_calls($server->fpm->workers(), 40, fn () => $server->search($environment, 'a', 40));
            }
        } finally {
            $server->stop();
        }
        fprintf(STDERR, "System calls of a request: %d without a limit, %d with the bridge, %d with Symfony's limiter\n", ...array_values($calls));
        self::assertLessThan($calls['unlimited'] + 2, $calls['prod']);
        // Symfony's limiter opens files.
        self::assertGreaterThan($calls['unlimited'] + 5, $calls['plain']);
    }
}
