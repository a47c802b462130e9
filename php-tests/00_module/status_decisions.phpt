--TEST--
TokenBucket\status() counts grants and denials of each namespace
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** Prints the counters of each namespace that are not 0. */
function decisions(): void
{
    foreach (TokenBucket\status()['decisions'] as $row) {
        ['store' => $store, 'namespace' => $namespace] = $row;
        $counts = array_filter(array_diff_key($row, ['store' => 1, 'namespace' => 1]));
        echo "$store ", json_encode($namespace, JSON_INVALID_UTF8_SUBSTITUTE), ': ', json_encode($counts), "\n";
    }
}

/** Makes grants and denials in a namespace. */
function decide(string $namespace, int $granted, int $denied): void
{
    $bucket = new TokenBucket(new TokenBucketStorageSharedMemory($namespace), bin2hex(random_bytes(8)), $granted, 0.001);
    for ($i = 0; $i < $granted + $denied; $i++) {
        check($bucket->consume() === $i < $granted, "call $i in $namespace");
    }
}

check(TokenBucket\status()['decisions'] === [], 'no namespace at first');
$unused = new TokenBucketStorageSharedMemory('unused');
decide('login', 3, 2);
decide('', 1, 0);
decide("a<b>\0\xff", 1, 1);
decisions();

echo "The setting precedes the namespace:\n";
echo php_run(<<<'PHP'
    foreach (['login', ''] as $namespace) {
        (new TokenBucket(new TokenBucketStorageSharedMemory($namespace), 'id', 1, 1))->consume();
    }
    echo implode(' ', array_column(TokenBucket\status()['decisions'], 'namespace')), "\n";
    PHP, ['tokenbucket.namespace' => 'shop']);
check(array_keys(TokenBucket\status()['decisions'][0]) === [
    'store',
    'namespace',
    'granted_by_store',
    'denied_by_store',
    'denied_by_denial_cache',
    'granted_by_fallback',
    'denied_by_fallback',
    'permits_held',
], 'the fields');
ob_start();
phpinfo(INFO_MODULES);
preg_match_all('/^Decisions => .*$/m', ob_get_clean(), $lines);
echo implode("\n", array_slice($lines[0], 0, 3)), "\n";

echo "Each method counts its decision once:\n";
$bucket = new TokenBucket(new TokenBucketStorageSharedMemory('methods'), 'id', 2, 0.001);
$of_methods = fn (): array => array_column(TokenBucket\status()['decisions'], null, 'namespace')['methods'];
foreach ([
    'peek' => fn () => $bucket->peek(),
    'attempt' => fn () => $bucket->attempt(),
    'more than the capacity' => fn () => $bucket->attempt(3),
    'charge' => fn () => $bucket->charge(1),
    'wait' => fn () => $bucket->wait(0.0),
    'reserve' => fn () => $bucket->reserve(1, 0.0),
    'refund' => fn () => $bucket->refund(),
    'reset' => fn () => $bucket->reset(),
] as $name => $call) {
    $before = $of_methods();
    $call();
    $after = $of_methods();
    $change = array_map(fn ($counter) => $after[$counter] - $before[$counter], ['granted_by_store', 'denied_by_store']);
    echo "$name: ", implode(' ', $change), "\n";
}

echo "The number of rows is bounded:\n";
for ($i = 0; $i < 200; $i++) {
    decide("namespace $i", 1, 2);
}
$rows = TokenBucket\status()['decisions'];
$others = array_values(array_filter($rows, fn (array $row) => $row['namespace'] === null));
echo count($rows), ' rows, ', count($others), ' for others: ', $others[0]['granted_by_store'], ' ', $others[0]['denied_by_store'], "\n";
$memory = TokenBucket\status()['shared_memory'];
check(array_sum(array_column($rows, 'granted_by_store')) === $memory['granted'], 'the sum of the grants');
check(array_sum(array_column($rows, 'denied_by_store')) === $memory['denied'], 'the sum of the denials');
check(count(array_unique(array_map(fn ($row) => serialize([$row['store'], $row['namespace']]), $rows))) === count($rows), 'each pair once');
decide(str_repeat('x', 100), 1, 0);
check(TokenBucket\status()['decisions'][0]['granted_by_store'] === $others[0]['granted_by_store'] + 1, 'the other namespaces come first');
?>
--EXPECT--
shared_memory "": {"granted_by_store":1}
shared_memory "a<b>\u0000\ufffd": {"granted_by_store":1,"denied_by_store":1}
shared_memory "login": {"granted_by_store":3,"denied_by_store":2}
shared_memory "unused": []
The setting precedes the namespace:
shop shop/login
Decisions => shared_memory "": 1 granted by the store, 0 denied by the store
Decisions => shared_memory "a\x3cb>\x00\xef\xbf\xbd": 1 granted by the store, 1 denied by the store
Decisions => shared_memory "login": 3 granted by the store, 2 denied by the store
Each method counts its decision once:
peek: 0 0
attempt: 1 0
more than the capacity: 0 1
charge: 1 0
wait: 0 1
reserve: 0 1
refund: 0 0
reset: 0 0
The number of rows is bounded:
49 rows, 1 for others: 157 314
