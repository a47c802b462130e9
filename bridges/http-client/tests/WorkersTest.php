<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use RedisServer;
use Symfony\Component\HttpKernel\Kernel;

require_once __DIR__ . '/../../../tools/testkit/php/servers.php';

/** Tests that all of eight processes stop if one of them gets the status 429. */
final class WorkersTest extends TestCase
{
    private const PROCESSES = 8;
    /** The rate and the longest wait of worker.php, in tokens a second and seconds. */
    private const RATE = 20;
    private const MAX_WAIT = 1.0;
    /** The requests that the server serves. The bucket allows more. */
    private const LIMIT = 40;

    private PeerServer $server;
    /** The folder of the segment that the workers share. */
    private string $folder;
    /** @var list<array{resource, resource, resource}> each worker with its input and its output */
    private array $workers = [];

    protected function tearDown(): void
    {
        foreach ($this->workers as [$process, $input]) {
            fclose($input);
            proc_close($process);
        }
        $this->workers = [];
        $this->server->stop();
        exec('rm -rf ' . escapeshellarg($this->folder));
    }

    /** @return list<array{string, string}> */
    public static function clients(): array
    {
        // The responses of Symfony 5.4 cannot be extended.
        $symfony = Kernel::MAJOR_VERSION < 6 ? [] : [['symfony', 'redis']];
        return [['guzzle', 'redis'], ['guzzle', 'shared'], ...$symfony];
    }

    #[DataProvider('clients')]
    public function testTheFirst429StopsAllProcesses(string $client, string $storage): void
    {
        [$sent, $after, $received] = $this->run429($client, $storage);
        self::assertSame($received, count($sent));
        self::assertSame([], $after);
        // The control: each process has a store of its own.
        $this->tearDown();
        [$sent, $after, $received] = $this->run429($client, 'own');
        self::assertSame($received, count($sent));
        // The process that sent nothing before the first 429 sends five requests after it.
        self::assertGreaterThanOrEqual(5, count($after), 'The control was not noticed');
        fprintf(STDERR, "With a store for each process, %d of %d requests begin after the first 429\n", count($after), $received);
    }

    /**
     * @return array{list<array>, list<array>, int} the sent requests, those of them that began after
     *     the first 429 was received, and the number of requests that the server got
     */
    private function run429(string $client, string $storage): array
    {
        $this->server = new PeerServer();
        $this->folder = sys_get_temp_dir() . '/tokenbucket-http-client-' . getmypid() . '-' . bin2hex(random_bytes(4));
        mkdir($this->folder, 0700);
        $redis = $storage === 'redis' ? RedisServer::start() : null;
        $this->startWorkers($client, $redis === null ? $storage : "redis:$redis->socket");
        // One process sends its first request after the first 429 was received.
        $events = $this->command('race', array_slice($this->workers, 1));
        array_push($events, ...$this->command('probe', $this->workers));
        $redis?->kill();

        $sent = array_values(array_filter($events, fn (array $event) => $event[2] !== null));
        $first = min(array_column(array_filter($sent, fn (array $event) => $event[2] === 429), 3));
        $after = array_values(array_filter($sent, fn (array $event) => $event[0] > $first));
        $reserved = array_filter($sent, fn (array $event) => $event[0] <= $first && $event[0] + $event[1] * 1e9 > $first);
        $in_flight = array_filter($sent, fn (array $event) => $event[0] + $event[1] * 1e9 <= $first && $event[3] > $first);
        if ($storage !== 'own') {
            fprintf(STDERR, "%s, %s: of %d requests, %d are in flight and %d reserved when the first 429 is received, and %d begin later\n", $client, $storage, count($sent), count($in_flight), count($reserved), count($after));
            self::assertLessThanOrEqual(self::RATE * self::MAX_WAIT, count($reserved));
            // The server denies only requests that were in flight or reserved when the first 429
            // was received.
            self::assertLessThanOrEqual(self::LIMIT + 1 + count($in_flight) + count($reserved), count($sent));
        }
        return [$sent, $after, $this->server->requests('/limited')];
    }

    private function startWorkers(string $client, string $storage): void
    {
        $options = ['-n', '-d', 'include_path=' . get_include_path(), '-d', 'extension=' . getenv('TOKENBUCKET'), '-d', "tokenbucket.shm_path=$this->folder/segment"];
        foreach (['ctype', 'curl', 'mbstring'] as $extension) {
            if (is_file(getenv('PHP_EXTENSIONS') . "/$extension.so")) {
                array_push($options, '-d', 'extension=' . getenv('PHP_EXTENSIONS') . "/$extension.so");
            }
        }
        for ($i = 0; $i < self::PROCESSES; $i++) {
            $command = [PHP_BINARY, ...$options, '-d', 'error_reporting=' . (E_ALL & ~E_DEPRECATED), __DIR__ . '/worker.php', $client, "{$this->server->url}/limited?after=3600&limit=" . self::LIMIT, $storage];
            $process = proc_open($command, [['pipe', 'r'], ['pipe', 'w']], $pipes);
            $this->workers[] = [$process, ...$pipes];
        }
        foreach ($this->workers as [, , $output]) {
            self::assertSame("ready\n", fgets($output));
        }
    }

    /**
     * Gives a command to workers at the same time.
     *
     * @return list<array> what they print, in the format of worker.php
     */
    private function command(string $command, array $workers): array
    {
        foreach ($workers as [, $input]) {
            fwrite($input, "$command\n");
        }
        $events = [];
        foreach ($workers as [, , $output]) {
            array_push($events, ...json_decode((string) fgets($output), true, flags: JSON_THROW_ON_ERROR));
        }
        return $events;
    }
}
