<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\Symfony\Tests;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\EventListener\StopWorkerOnMessageLimitListener;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Transport\InMemory\InMemoryTransport;
use Symfony\Component\Messenger\Worker;
use Symfony\Component\RateLimiter\RateLimiterFactory;
use Symfony\Component\RateLimiter\Storage\InMemoryStorage;
use Symfony\Component\RateLimiter\Storage\StorageInterface;
use TokenBucket\Bridge\Symfony\BucketStorage;
use TokenBucketStorageSharedMemory;

require_once __DIR__ . '/../../../tools/testkit/php/processes.php';

/** Tests waits for tokens that a signal interrupts. */
final class SignalsTest extends TestCase
{
    /** @return iterable<string, array{StorageInterface}> */
    public static function storages(): iterable
    {
        yield 'bucket' => [new BucketStorage(new TokenBucketStorageSharedMemory('signals' . getmypid()))];
        yield 'of Symfony' => [new InMemoryStorage()];
    }

    #[DataProvider('storages')]
    public function testAReservationWaitsToItsEnd(StorageInterface $storage): void
    {
        $limiter = $this->factory($storage)->create();
        $begin = hrtime(true);
        $limiter->consume();
        $reservation = $limiter->reserve();
        $this->signalledDuring(fn () => $reservation->wait());
        self::assertGreaterThanOrEqual(1_000_000_000, hrtime(true) - $begin);
        self::assertSame(0.0, $reservation->getWaitDuration());
    }

    public function testADenialWaitsToItsEnd(): void
    {
        $limiter = $this->factory(self::storages()->current()[0])->create();
        $begin = hrtime(true);
        $limiter->consume();
        $denial = $limiter->consume();
        $this->signalledDuring(fn () => $denial->wait());
        self::assertGreaterThanOrEqual(1_000_000_000, hrtime(true) - $begin);
    }

    #[DataProvider('storages')]
    public function testAWorkerOfMessengerKeepsTheIntervalOfItsTransport(StorageInterface $storage): void
    {
        if (!class_exists(InMemoryTransport::class)) {
            self::markTestSkipped('Messenger limits transports since Symfony 6.2, and has this transport since 6.3');
        }
        $transport = new InMemoryTransport();
        array_map(fn () => $transport->send(new Envelope(new \stdClass())), range(1, 2));
        $instants = [];
        $bus = $this->createMock(MessageBus::class);
        $bus->method('dispatch')->willReturnCallback(function (Envelope $envelope) use (&$instants): Envelope {
            $instants[] = hrtime(true);
            return $envelope;
        });
        $dispatcher = new EventDispatcher();
        $dispatcher->addSubscriber(new StopWorkerOnMessageLimitListener(2));
        $worker = new Worker(['async' => $transport], $bus, $dispatcher, rateLimiters: ['async' => $this->factory($storage)]);
        $begin = hrtime(true);
        $this->signalledDuring(fn () => $worker->run(), fn () => $worker->stop());
        self::assertCount(2, $instants);
        self::assertGreaterThanOrEqual(1_000_000_000, $instants[1] - $begin);
    }

    private function factory(StorageInterface $storage): RateLimiterFactory
    {
        return new RateLimiterFactory(['id' => uniqid(), 'policy' => 'token_bucket', 'limit' => 1, 'rate' => ['interval' => '1 second']], $storage);
    }

    /** Runs a call that sleeps, and handles a signal in its first sleep. */
    private function signalledDuring(callable $call, ?callable $handler = null): void
    {
        $handled = 0;
        pcntl_async_signals(true);
        pcntl_signal(SIGTERM, function () use (&$handled, $handler): void {
            $handled++;
            $handler === null || $handler();
        });
        $signaller = signal_during_sleep('TERM');
        $call();
        pcntl_waitpid($signaller, $status);
        pcntl_signal(SIGTERM, SIG_DFL);
        pcntl_wtermsig($status) === SIGKILL || self::markTestIncomplete('The sleep ended before it was seen');
        self::assertSame(1, $handled);
    }
}
