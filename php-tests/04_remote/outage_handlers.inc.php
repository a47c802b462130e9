<?php
/**
 * Defines helpers for tests of error handlers that interfere with the call that warns of an outage.
 */
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

class Changing extends TokenBucket
{
    public function change(string $identifier, int $capacity): void
    {
        $this->_identifier = $identifier;
        $this->_bucket_capacity = $capacity;
        $this->_tokens_per_second = 0.5;
    }
}

/** Allocates memory, so that freed memory is overwritten. */
function scribble(): array
{
    return array_map(fn ($i) => str_repeat(chr(65 + $i % 26), 10 + $i), range(0, 300));
}

const METHODS = ['consume', 'attempt', 'peek', 'wait', 'refund', 'reset'];

/**
 * Creates storages whose server is down. Each storage has another database or path, so its store
 * has not warned yet.
 */
final class Down
{
    private static int $number = 0;

    public static function storage(OnFailure $policy = OnFailure::Local): TokenBucketStorage
    {
        $number = ++self::$number;
        return $number % 2
            ? new TokenBucketStorageRedis("unix:///nowhere/tokenbucket.sock?db=$number", 'p', 1.0, $policy)
            : new TokenBucketStorageMemcached("unix:///nowhere/tokenbucket-$number.sock", 'p', 1.0, $policy);
    }
}

function call(TokenBucket $bucket, string $method): mixed
{
    return $method === 'wait' ? $bucket->wait(1) : $bucket->$method();
}
