<?php

declare(strict_types=1);

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Web.php';

/**
 * Counts the system calls of requests with a limit of the bridge, with Laravel's, and without one.
 */
#[Group('web')]
final class SystemCallsTest extends TestCase
{
    public function testALimitInSharedMemoryMakesNoSystemCalls(): void
    {
        if (!has_strace()) {
            self::markTestSkipped('strace cannot trace processes here');
        }
        $web = Web::optimized();
        $disabled = ['TOKENBUCKET_ENABLED' => 'false'];
        foreach (['none' => ['/unlimited', $disabled], 'bridge' => ['/plenty', []], 'own' => ['/plenty', $disabled]] as $name => [$path, $environment]) {
            $web->path($name, $path, $web->cacheConfiguration($name, $environment));
            $calls[$name] = $web->systemCalls($name);
        }
        fprintf(STDERR, "System calls of a request: %d without a limit, %d with the bridge, %d with Laravel's limiter\n", ...array_values($calls));
        $this->assertLessThan($calls['none'] + 2, $calls['bridge']);
        // Laravel's limiter opens files.
        $this->assertGreaterThan($calls['none'] + 5, $calls['own']);
    }
}
