--TEST--
A dry run estimates how many different identifiers its limit would deny if identifiers are tracked, in shared memory and on Redis
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/servers.php';
require __DIR__ . '/../../tools/testkit/php/child.php';

$redis = RedisServer::start();
$code = <<<'PHP'
    /** Calls the limit as a dry run does: three times for each of 300 identifiers. */
    function dry_run(TokenBucketStorage $storage): void
    {
        for ($i = 0; $i < 900; $i++) {
            $bucket = new TokenBucket($storage, 'client ' . $i % 300, 1, 1 / TokenBucket::DAY);
            $i % 2 === 0 ? $bucket->attempt() : TokenBucket::attemptAll([$bucket, new TokenBucket($storage, 'all', 1e6, 1)]);
        }
    }
    do {
        // If the day ends meanwhile, the identifiers belong to two days.
        $day = gmdate('Y-m-d');
        $names[] = $name = 'search ' . count($names ?? []);
        dry_run(new TokenBucketStorageSharedMemory($name));
        dry_run(new TokenBucketStorageRedis($argv[1], $name, 10.0));
    } while (gmdate('Y-m-d') !== $day);
    foreach (TokenBucket\status()['decisions'] as $row) {
        if (in_array($name, [$row['namespace']], true)) {
            $denied = $row['denied_by_store'] + $row['denied_by_denial_cache'];
            $estimate = $row['clients_denied_today'] ?? null;
            // Within 6.5 standard errors.
            $shown = $estimate === null ? 'no estimate' : (abs($estimate - 300) <= 6.5 * 0.0325 * 300 ? 'about 300' : $estimate) . " identifiers, yesterday $row[clients_denied_yesterday]";
            echo "$row[store]: $denied denied, $shown, guard ", isset($row['blocked']) ? 'yes' : 'no', "\n";
        }
    }
    PHP;
foreach (['0', '1'] as $track) {
    echo "== track_identifiers $track\n", php_run($code, ['tokenbucket.track_identifiers' => $track], "redis://127.0.0.1:$redis->port");
    $redis->command('FLUSHALL');
}
?>
--EXPECT--
== track_identifiers 0
shared_memory: 600 denied, no estimate, guard no
redis: 600 denied, no estimate, guard no
== track_identifiers 1
shared_memory: 600 denied, about 300 identifiers, yesterday 0, guard no
redis: 600 denied, about 300 identifiers, yesterday 0, guard no
