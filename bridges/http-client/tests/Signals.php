<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../../../tools/testkit/php/processes.php';

/** Sends a signal to a sleeping process, as a supervisor of workers does. */
final class Signals
{
    /** Runs a call that sleeps, and handles a signal in its first sleep. */
    public static function during(TestCase $test, callable $call): mixed
    {
        $handled = 0;
        pcntl_async_signals(true);
        pcntl_signal(SIGUSR2, function () use (&$handled): void {
            $handled++;
        });
        $signaller = signal_during_sleep('USR2');
        $result = $call();
        pcntl_waitpid($signaller, $status);
        pcntl_wtermsig($status) === SIGKILL || $test->markTestIncomplete('The sleep ended before it was seen');
        $test->assertSame(1, $handled);
        return $result;
    }
}
