<?php

declare(strict_types=1);

/**
 * Sends requests on command, as one of several processes. Prints each request as [instant before
 * its token was taken, seconds of delay, status or null, instant of the response, retryAfter]. The
 * delay of a request that was denied is null.
 *
 *   worker.php guzzle|symfony URL STORAGE    STORAGE is redis:SOCKET, shared, or own
 *
 * Lines of the input: "race" sends until the bucket is blocked, "probe" sends 5 requests.
 */
use GuzzleHttp\Client;
use GuzzleHttp\HandlerStack;
use GuzzleHttp\Promise\Utils;
use Symfony\Component\HttpClient\HttpClient;
use TokenBucket\Bridge\HttpClient\Guzzle;
use TokenBucket\Bridge\HttpClient\Symfony;

require __DIR__ . '/bootstrap.php';

const AT_ONCE = 3;
const MAX_WAIT = 1.0;
/** A denial for longer than this is a block. */
const BLOCKED = 60.0;

[, $kind, $url, $storage] = $argv;
$storage = match (strtok($storage, ':')) {
    'redis' => new TokenBucketStorageRedis('unix://' . strtok(''), 'peer:', timeout: 30.0),
    'shared' => new TokenBucketStorageSharedMemory('peer'),
    'own' => new TokenBucketStorageSharedMemory('peer' . getmypid()),
};

/** Records when a token was asked for, and the delay of the request. */
final class RecordedBucket extends TokenBucket
{
    public static array $event;

    public function reserve(int|float $tokens = 1, float $maxWait = INF): TokenBucket\Reservation
    {
        $begin = hrtime(true);
        $reservation = parent::reserve($tokens, $maxWait);
        self::$event = [$begin, is_finite($reservation->delay) ? $reservation->delay : null, null, null, $reservation->decision->retryAfter];
        return $reservation;
    }
}
$bucketOf = static fn (): TokenBucket => new RecordedBucket($storage, 'peer', 10, 20);

/** Sends requests at the same time with Guzzle. */
$guzzle = function (int $requests) use ($bucketOf, $url): array {
    static $client;
    if ($client === null) {
        $stack = HandlerStack::create();
        $stack->push(new Guzzle\RateLimit($bucketOf, MAX_WAIT));
        $client = new Client(['handler' => $stack, 'http_errors' => false]);
    }
    $events = $promises = [];
    for ($i = 0; $i < $requests; $i++) {
        $promise = $client->getAsync($url);
        $events[$i] = RecordedBucket::$event;
        $promises[] = $promise->then(
            function ($response) use (&$events, $i): void {
                [$events[$i][2], $events[$i][3]] = [$response->getStatusCode(), hrtime(true)];
            },
            fn (Throwable $reason) => $reason instanceof Guzzle\DeniedException || throw $reason,
        );
    }
    Utils::unwrap($promises);
    return $events;
};

/** Does the same with Symfony's client. */
$symfony = function (int $requests) use ($bucketOf, $url): array {
    static $client;
    $client ??= new Symfony\RateLimitedHttpClient(HttpClient::create(), $bucketOf, MAX_WAIT);
    $events = $responses = [];
    for ($i = 0; $i < $requests; $i++) {
        try {
            $responses[$i] = $client->request('GET', $url);
        } catch (Symfony\DeniedException) {
        }
        $events[$i] = RecordedBucket::$event;
    }
    foreach ($client->stream($responses) as $response => $chunk) {
        if ($chunk->isFirst()) {
            $i = array_search($response, $responses, true);
            [$events[$i][2], $events[$i][3]] = [$response->getStatusCode(), hrtime(true)];
        }
    }
    return $events;
};

$send = $kind === 'guzzle' ? $guzzle : $symfony;
echo "ready\n";
while ($line = fgets(STDIN)) {
    $events = [];
    if (trim($line) === 'probe') {
        $events = $send(5);
    } else {
        // A bucket that is never blocked fails the test, and does not hang it.
        for ($wait = $round = 0; $wait < BLOCKED && $round < 50; $round++) {
            $sent = $send(AT_ONCE);
            array_push($events, ...$sent);
            $wait = max(array_column($sent, 4));
            usleep($wait < BLOCKED ? (int) ($wait * 1e6) : 0);
        }
    }
    echo json_encode($events), "\n";
}
