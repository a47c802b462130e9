--TEST--
An application's own functions of SQLite's names change no decision
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$server = SqliteFile::start();
foreach ([false, true] as $defined) {
    $db = $server->connect();
    if ($defined) {
        foreach (['round', 'min', 'max', 'abs', 'typeof', 'coalesce', 'upper', 'count'] as $name) {
            check($db->sqliteCreateFunction($name, fn () => throw new DomainException($name)), "defined $name");
        }
    }
    $storage = new TokenBucketStoragePDO($db, 'limits');
    $storage->prepare();
    $name = fn (string $name) => $name . (int) $defined;
    $bucket = new TokenBucket($storage, $name('bucket'), 3, 1e-6);
    check($bucket->consume(3) && !$bucket->consume() && !$bucket->peek()->allowed, 'a bucket is empty');
    $bucket->refund(2);
    check(round($bucket->peek()->remaining, 3) === 2.0, 'two refunded');
    $bucket->reserve(1, 0.5)->cancel();
    check(round($bucket->peek()->remaining, 3) === 2.0, 'two after cancel()');
    $bucket->charge(4);
    check(round($bucket->peek()->remaining, 3) === -2.0, 'a debt of two');
    $bucket->reset();
    check($bucket->consume(3) && !$bucket->consume(), 'full again');
    $bucket->reset();
    $told = array_map(fn (float $tokens) => $bucket->attempt($tokens), [0.5, 2, 1, 0.5]);
    check(array_column($told, 'allowed') === [true, true, false, true], 'all but the third attempt');
    check(array_map(fn ($decision) => round($decision->remaining, 3), $told) === [2.0, 0.0, 0.0, 0.0], 'what remains');
    check(round($told[2]->retryAfter) === 500000.0, 'the wait for half a token');
    $quota = new TokenBucket\Quota($storage, $name('quota'), 3, TokenBucket\Period::Year);
    check($quota->attempt(2)->remaining === 1.0 && $quota->attempt(2)->remaining === 1.0, 'a quota');
    check($quota->consume() && !$quota->consume(), 'a quota is used up');
    $quota->refund(1);
    check($quota->consume() && !$quota->consume(), 'one token given back');
    check($storage->purge(1) === 0, 'no row of a bucket that is not full');
    $db->exec("UPDATE limits SET microtime = 'text'");
    check(str_contains(thrown(fn () => $bucket->consume()), 'StorageException'), 'a text is no bucket');
}
echo "done\n";
?>
--EXPECT--
done
