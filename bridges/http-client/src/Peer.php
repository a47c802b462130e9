<?php

declare(strict_types=1);

namespace TokenBucket\Bridge\HttpClient;

use TokenBucket;
use TokenBucket\StorageException;

/** Slows down the bucket of requests to a server, as the replies of this server ask. */
final class Peer
{
    /**
     * @param float $maxWait the most seconds that a request waits for its token; 0 or more
     * @param float $maxBlock the most seconds for which one reply stops all requests of its bucket;
     *     0 to 1e9
     * @param bool $readRemaining true to lower the bucket to the remaining requests that a reply
     *     states
     */
    public function __construct(public readonly float $maxWait, private readonly float $maxBlock, private readonly bool $readRemaining)
    {
        if (!class_exists(TokenBucket::class)) {
            throw new \LogicException(sprintf('tokenbucket/http-client needs the extension tokenbucket, which %s does not load', php_ini_loaded_file() ?: 'this PHP'));
        }
        if (!($maxWait >= 0)) {
            throw new \ValueError('$maxWait must be 0 or more');
        }
        if (!($maxBlock >= 0 && $maxBlock <= 1e9)) {
            throw new \ValueError('$maxBlock must be between 0 and 1e9');
        }
    }

    /**
     * Slows down the bucket that $bucketOf returns for the resource that a reply names, or for
     * null.
     *
     * If the store fails, only the log says so, because the request has got its reply.
     *
     * @param callable(?string): ?TokenBucket $bucketOf
     * @param array<string, list<string>> $headers of the reply, by name
     */
    public function learn(callable $bucketOf, int $status, array $headers): void
    {
        try {
            $bucket = $bucketOf((new Reply($headers))->resource());
            $bucket === null || $this->obey($bucket, $status, $headers);
        } catch (StorageException $error) {
            error_log("tokenbucket/http-client: a reply with the status $status did not slow down its bucket: {$error->getMessage()}");
        }
    }

    /** @param array<string, list<string>> $headers of a reply, by name */
    public function obey(TokenBucket $bucket, int $status, array $headers): void
    {
        $reply = new Reply($headers);
        $denied = $status === 429 || $status === 403 && $reply->isDenial();
        [$remaining, $reset] = $denied || $this->readRemaining ? $reply->remaining() : [null, null];
        $wait = match (true) {
            $denied => $reply->retryAfter() ?? ($remaining === 0 ? $reset : null),
            $status === 503 => $reply->retryAfter(),
            default => null,
        };
        if ($wait !== null) {
            $bucket->block(min($wait, $this->maxBlock));
        } elseif ($denied) {
            $bucket->drain();
            $bucket->block(min(1.0, $this->maxBlock));
        }
        if (!$this->readRemaining) {
            return;
        }
        if ($remaining !== null) {
            $bucket->drain($remaining);
        }
        if ($remaining === 0 && $reset !== null) {
            $bucket->block(min($reset, $this->maxBlock));
        }
    }
}
