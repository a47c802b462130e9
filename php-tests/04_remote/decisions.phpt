--TEST--
status() counts the decisions of the store, of the denial cache and of the fallback
--EXTENSIONS--
pdo
pdo_sqlite
--INI--
tokenbucket.track_identifiers=1
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\Compat\{ClientThrottle, LeakyBucket, MinuteWindow, RateLimiter};
use TokenBucket\OnFailure;

/** Prints by how much a call changes the decisions of each namespace. */
function change(string $name, callable $call): void
{
    $rows = function (): array {
        foreach (TokenBucket\status()['decisions'] as $row) {
            ['store' => $store, 'namespace' => $namespace] = $row;
            // The numbers of clients are estimates.
            foreach (preg_grep('/^clients_/', array_keys(array_slice($row, 2)), PREG_GREP_INVERT) as $counter) {
                $counts["$store $namespace $counter"] = $row[$counter];
            }
        }
        return $counts ?? [];
    };
    $before = $rows();
    $call();
    $changes = [];
    foreach ($rows() as $counter => $count) {
        if ($count !== ($before[$counter] ?? 0)) {
            $changes[] = sprintf('%s %+d', $counter, $count - ($before[$counter] ?? 0));
        }
    }
    echo "$name: ", implode(', ', $changes) ?: 'nothing', "\n";
}

/** Calls $call once for each character of $expected: "+" expects true, and "-" false. */
function results(string $expected, callable $call): void
{
    $results = '';
    while (strlen($results) < strlen($expected)) {
        $results .= $call() ? '+' : '-';
    }
    check($results === $expected, "$results instead of $expected");
}

alike(['redis', 'memcached'], function (string $kind) {
    $store = iterator_to_array(Store::each())[ucfirst($kind)];
    $new = fn (string $id, OnFailure $policy = OnFailure::Local, int $capacity = 3) => new TokenBucket(
        $store->storage($policy, 'api:', true),
        $id,
        $capacity,
        0.001
    );
    $bucket = $new('id');
    change('grants', fn () => results('+++', $bucket->consume(...)));
    change('a denial', fn () => results('-', $bucket->consume(...)));
    change('cached denials', fn () => results('--', fn () => ($decision = $bucket->attempt())->allowed || $decision->fallback));
    change('peek', fn () => $bucket->peek());
    change('more than the capacity', fn () => $bucket->attempt(4));
    change('more than the capacity of a new one', fn () => $new('another')->attempt(4));
    change('another prefix', fn () => (new TokenBucket($store->storage(OnFailure::Local, 'b:'), 'id', 1, 1))->attempt());
    change('without the cache', fn () => results('-', fn () => (new TokenBucket($store->storage(OnFailure::Local, 'api:'), 'id', 3, 0.001))->consume()));
    change('MinuteWindow', function () use ($store): void {
        $window = new MinuteWindow($store->storage(OnFailure::Local, 'mw:'), '10.0.0.1');
        for ($i = 0; $i < 3; $i++) {
            try {
                $window->limitRequestsInMinutes(1, 2);
            } catch (TokenBucket\Compat\RateExceededException) {
            }
        }
    });
    change('ClientThrottle', fn () => results('-+', fn () => (new ClientThrottle($store->storage(OnFailure::Local, 'ct:')))->check('id', 1)));
    // Identifiers that share a counter reduce each other's count, so the test uses several.
    for ($i = 0; $i < 10; $i++) {
        results('+++-----', $new("client $i")->consume(...));
    }
    $store->server->kill();
    change('local', fn () => results('++-', $new('local', OnFailure::Local, 2)->consume(...)));
    change('allow', fn () => results('++', $new('allow', OnFailure::Allow, 1)->consume(...)));
    change('deny', fn () => results('--', $new('deny', OnFailure::Deny)->consume(...)));
    change('throw', function () use ($new): void {
        try {
            $new('throw', OnFailure::Throw)->consume();
        } catch (TokenBucket\StorageException $failure) {
            echo 'no decision; ';
        }
    });
    change('ClientThrottle', fn () => results('-', fn () => @(new ClientThrottle($store->storage(OnFailure::Local, 'ct:')))->check('new', 1)));
});
$redis = Store::each()->current();
change('LeakyBucket', fn () => results('+-', fn () => (new LeakyBucket($redis->storage(OnFailure::Local, 'lb:'), 86400, 1))->request('c', 'a')));
change('RateLimiter', function () use ($redis): void {
    $limiter = new RateLimiter('key', 1, 60);
    $limiter->redis = $redis->storage(OnFailure::Local, 'rl:');
    results('+-', fn () => $limiter->handler());
});
change('a database', function (): void {
    $storage = new TokenBucketStoragePDO(new PDO('sqlite::memory:'), 'limits');
    $storage->prepare();
    results('+-', (new TokenBucket($storage, 'id', 1, 0.001))->consume(...));
});
change('a storage for tests', fn () => (new TokenBucket(new TokenBucketStorageMemory, 'id', 1, 1))->consume());

echo "The most denied identifiers:\n";
foreach (TokenBucket\status()['most_denied'] as ['store' => $store, 'namespace' => $namespace, 'identifier' => $identifier]) {
    if (str_starts_with($identifier, 'client ')) {
        $denied["$store $namespace"] = true;
    }
}
ksort($denied);
echo implode("\n", array_keys($denied)), "\n";
?>
--EXPECT--
grants: … api: granted_by_store +3
a denial: … api: denied_by_store +1
cached denials: … api: denied_by_denial_cache +2
peek: nothing
more than the capacity: … api: denied_by_denial_cache +1
more than the capacity of a new one: … api: denied_by_store +1
another prefix: … b: granted_by_store +1
without the cache: … api: denied_by_store +1
MinuteWindow: … mw: granted_by_store +1, … mw: denied_by_store +2
ClientThrottle: … ct: granted_by_store +1, … ct: denied_by_store +1
local: … api: granted_by_fallback +2, … api: denied_by_fallback +1
allow: … api: granted_by_fallback +2
deny: … api: denied_by_fallback +2
no decision; throw: nothing
ClientThrottle: … ct: granted_by_fallback +1
LeakyBucket: redis lb: granted_by_store +1, redis lb: denied_by_store +1
RateLimiter: redis rl: granted_by_store +1, redis rl: denied_by_store +1
a database: database limits granted_by_store +1, database limits denied_by_store +1
a storage for tests: nothing
The most denied identifiers:
memcached api:
redis api: