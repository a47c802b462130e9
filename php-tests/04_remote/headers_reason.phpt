--TEST--
Headers of a denial that does not depend on tokens lack the parameter t, and Retry-After follows the reason
--INI--
tokenbucket.shm_size=4K
tokenbucket.shm_full=refuse
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\{Decision, OnFailure};

fold_equal_lines();
const DAY = 86400;

function print_headers(Decision $decision): void
{
    $before = time();
    $headers = $decision->headers('a', legacy: true);
    [$reset, $after] = [$headers['X-RateLimit-Reset'], time()];
    unset($headers['X-RateLimit-Reset']);
    echo $decision->reason, ': ', json_encode($headers), "\n";
    $soon = $reset >= $before + 1 && $reset <= $after + 1;
    check($soon || $decision->reason === 'insufficient_tokens', 'X-RateLimit-Reset');
}

// A new client is denied, because the table is full.
$storage = new TokenBucketStorageSharedMemory;
for ($i = 0; ; $i++) {
    $decision = (new TokenBucket($storage, "id $i", 2, 1 / DAY))->attempt();
    if (!$decision->allowed) {
        break;
    }
}
check($decision->remaining === 0.0 && $decision->retryAfter === 0.001, 'numbers');
print_headers($decision);

// These stores are down.
foreach ([
    new TokenBucketStorageRedis('redis://127.0.0.1:1', onFailure: OnFailure::Deny),
    new TokenBucketStorageRedis('redis+sentinel://127.0.0.1:1/primary', onFailure: OnFailure::Deny),
    new TokenBucketStorageRedis('redis+cluster://127.0.0.1:1', onFailure: OnFailure::Deny),
    new TokenBucketStorageMemcached('127.0.0.1:1', onFailure: OnFailure::Deny),
] as $storage) {
    print_headers((new TokenBucket($storage, 'x', 10, 1 / DAY))->attempt());
}

// PHP code has made these decisions.
foreach (['contended', 'table_full', 'unavailable', 'insufficient_tokens'] as $reason) {
    print_headers(new Decision(false, 2, 10, 0.001, 8 * DAY, $reason));
}
?>
--EXPECT--
table_full: {"RateLimit-Policy":"\"a\";q=2;w=172800","RateLimit":"\"a\";r=0","Retry-After":"1","X-RateLimit-Limit":"2","X-RateLimit-Remaining":"0"}
unavailable: {"RateLimit-Policy":"\"a\";q=10;w=864000","RateLimit":"\"a\";r=0","Retry-After":"1","X-RateLimit-Limit":"10","X-RateLimit-Remaining":"0"} (4 times)
contended: {"RateLimit-Policy":"\"a\";q=10;w=864000","RateLimit":"\"a\";r=2","Retry-After":"1","X-RateLimit-Limit":"10","X-RateLimit-Remaining":"2"}
table_full: {"RateLimit-Policy":"\"a\";q=10;w=864000","RateLimit":"\"a\";r=2","Retry-After":"1","X-RateLimit-Limit":"10","X-RateLimit-Remaining":"2"}
unavailable: {"RateLimit-Policy":"\"a\";q=10;w=864000","RateLimit":"\"a\";r=2","Retry-After":"1","X-RateLimit-Limit":"10","X-RateLimit-Remaining":"2"}
insufficient_tokens: {"RateLimit-Policy":"\"a\";q=10;w=864000","RateLimit":"\"a\";r=2;t=172800","Retry-After":"172800","X-RateLimit-Limit":"10","X-RateLimit-Remaining":"2"}
