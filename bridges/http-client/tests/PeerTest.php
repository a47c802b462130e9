<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient\Tests;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use TokenBucket;
use TokenBucket\Bridge\HttpClient\Peer;
use TokenBucketStorageMemory;

/** Tests the effect of replies on a bucket of 10 tokens, on a clock that stands still. */
final class PeerTest extends TestCase
{
    private const DATE = ['Date' => ['Sun, 06 Nov 1994 08:49:37 GMT']];

    /** @return iterable<string, array{float, int, array<string, list<string>>}> seconds until there is a token */
    public static function denials(): iterable
    {
        yield 'seconds' => [30.0, 429, ['Retry-After' => ['30']]];
        yield 'a date' => [60.0, 429, self::DATE + ['Retry-After' => ['Sun, 06 Nov 1994 08:50:37 GMT']]];
        yield 'a date that has passed' => [0.0, 429, self::DATE + ['Retry-After' => ['Sun, 06 Nov 1994 08:49:07 GMT']]];
        yield 'a year' => [3600.0, 429, ['Retry-After' => ['31536000']]];
        yield 'more than the integers' => [3600.0, 503, ['Retry-After' => ['99999999999999999999999']]];
        yield '503' => [30.0, 503, ['Retry-After' => ['30']]];
        yield '503 without a time' => [0.0, 503, []];
        yield '403 of a limit' => [30.0, 403, ['Retry-After' => ['30']]];
        yield '403 of a limit, without a time' => [2.0, 403, ['X-RateLimit-Remaining' => ['0']]];
        yield '403 of a limit, with the time of a reset' => [30.0, 403, ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => ['30']]];
        yield '429 with the time of a reset' => [30.0, 429, ['RateLimit' => ['"a";r=0;t=30']]];
        yield '429 with the time at which more than nothing remains' => [2.0, 429, ['RateLimit' => ['"a";r=1;t=30']]];
        yield '403 for another reason' => [0.0, 403, ['X-RateLimit-Remaining' => ['7']]];
        yield 'without a time' => [2.0, 429, []];
        yield 'with a malformed time' => [2.0, 429, ['Retry-After' => ['soon']]];
        yield 'a reply that is no denial' => [0.0, 200, ['Retry-After' => ['30'], 'X-RateLimit-Remaining' => ['0']]];
    }

    #[DataProvider('denials')]
    public function testADenialStopsTheBucket(float $seconds, int $status, array $headers): void
    {
        $bucket = self::bucket(0.5);
        (new Peer(0, 3600, false))->obey($bucket, $status, $headers);
        self::assertSame($seconds, $bucket->peek()->retryAfter);
    }

    public function testAMissingExtensionIsReportedBeforeTheFirstRequest(): void
    {
        exec(escapeshellarg(PHP_BINARY) . ' -n -d display_errors=1 -r ' . escapeshellarg('require $argv[1]; new TokenBucket\Bridge\HttpClient\Peer(0, 0, false);') . ' -- ' . escapeshellarg(__DIR__ . '/../src/Peer.php') . ' 2>&1', $output);
        self::assertStringContainsString('LogicException: tokenbucket/http-client needs the extension tokenbucket, which this PHP does not load', implode("\n", $output));
    }

    public function testAFastBucketStopsForASecondIfNoTimeIsStated(): void
    {
        $bucket = self::bucket(1000);
        (new Peer(0, 3600, false))->obey($bucket, 429, []);
        self::assertSame(1.0, $bucket->peek()->retryAfter);
        (new Peer(0, 0.25, false))->obey($other = self::bucket(1000), 429, []);
        self::assertSame(0.25, $other->peek()->retryAfter);
    }

    public function testAfterTheTimeTheBucketHoldsOneToken(): void
    {
        $memory = new TokenBucketStorageMemory();
        $bucket = new TokenBucket($memory, 'peer', 10, 0.5);
        foreach (['30', '30', '5', '0'] as $seconds) {
            // Two workers that are denied at the same time stop the bucket once. Neither shortens
            // the time.
            (new Peer(0, 3600, false))->obey($bucket, 429, ['Retry-After' => [$seconds]]);
            self::assertSame(30.0, $bucket->peek()->retryAfter);
        }
        $memory->advance(29.5);
        self::assertFalse($bucket->consume());
        $memory->advance(0.5);
        self::assertSame([true, false], [$bucket->consume(), $bucket->consume()]);
    }

    /** @return iterable<string, array{float, float, array<string, list<string>>}> the tokens left, and seconds until there is a token */
    public static function remaining(): iterable
    {
        yield 'less than the bucket holds' => [3.0, 0.0, ['X-RateLimit-Remaining' => ['3']]];
        yield 'more than the bucket holds' => [8.0, 0.0, ['X-RateLimit-Remaining' => ['9']]];
        yield 'more than the capacity' => [8.0, 0.0, ['X-RateLimit-Remaining' => ['999999999999999']]];
        yield 'draft 11' => [5.0, 0.0, ['RateLimit' => ['"default";r=5;t=30']]];
        yield 'nothing' => [0.0, 2.0, ['RateLimit' => ['"default";r=0']]];
        yield 'malformed' => [8.0, 0.0, ['RateLimit' => ['"default";r=-5;t=30'], 'X-RateLimit-Remaining' => ['-5']]];
    }

    #[DataProvider('remaining')]
    public function testTheRemainingRequestsLowerTheBucketIfThatIsAskedFor(float $tokens, float $seconds, array $headers): void
    {
        foreach ([[false, 8.0, 0.0], [true, $tokens, $seconds]] as [$reads, $left, $wait]) {
            $bucket = self::bucket(0.5);
            $bucket->consume(2);
            (new Peer(0, 3600, $reads))->obey($bucket, 200, $headers);
            self::assertSame([$left, $wait], [$bucket->peek(0)->remaining, $bucket->peek()->retryAfter]);
        }
    }

    public function testIfNothingRemainsTheBucketStopsUntilTheStatedTime(): void
    {
        foreach ([[120.0, 3600.0], [60.0, 60.0]] as [$seconds, $maxBlock]) {
            foreach ([['RateLimit' => ['"a";r=0;t=120']], ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => ['120']], self::DATE + ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Reset' => ['784111897']]] as $headers) {
                $bucket = self::bucket(0.5);
                (new Peer(0, $maxBlock, true))->obey($bucket, 200, $headers);
                // The timestamp is before the year 2001, so it is read as seconds.
                self::assertSame(isset($headers['Date']) ? $maxBlock : $seconds, $bucket->peek()->retryAfter);
            }
        }
    }

    public function testAFailingStoreNeverChangesTheOutcomeOfARequest(): void
    {
        $log = ini_set('error_log', $file = tempnam(sys_get_temp_dir(), 'tokenbucket-log-'));
        try {
            $store = new \TokenBucketStorageRedis('unix:///nowhere.sock', onFailure: \TokenBucket\OnFailure::Throw);
            $bucketOf = static fn () => new TokenBucket($store, 'peer', 10, 1);
            (new Peer(0, 3600, true))->learn($bucketOf, 429, ['X-RateLimit-Remaining' => ['0']]);
            self::assertStringContainsString('a reply with the status 429 did not slow down its bucket', file_get_contents($file));
        } finally {
            ini_set('error_log', $log);
            unlink($file);
        }
    }

    public function testAReplySlowsDownTheBucketOfTheResourceThatItNames(): void
    {
        $memory = new TokenBucketStorageMemory();
        $bucketOf = static fn (?string $resource) => new TokenBucket($memory, $resource ?? 'core', 10, 1);
        (new Peer(0, 3600, true))->learn($bucketOf, 200, ['X-RateLimit-Remaining' => ['0'], 'X-RateLimit-Resource' => ['search']]);
        self::assertSame([10.0, 0.0], [$bucketOf(null)->peek()->remaining, $bucketOf('search')->peek()->remaining]);
    }

    private static function bucket(float $rate): TokenBucket
    {
        return new TokenBucket(new TokenBucketStorageMemory(), 'peer', 10, $rate);
    }
}
