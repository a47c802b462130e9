<?php
// Threads share a bucket in a SQLite file. Each request has a connection of its own.
require __DIR__ . '/phases.inc.php';

const CAPACITY = 400;

function connect(): PDO
{
    return new PDO('sqlite:' . dirname($_SERVER['RESULTS']) . '/buckets', options: [PDO::ATTR_TIMEOUT => 60]);
}

run(['threads' => 16, 'requests' => 10], function () {
    $storage = new TokenBucketStoragePDO(connect(), 'limits', denialCache: false);
    return take(without_refill($storage, 'shared', CAPACITY), 5);
}, function (array $granted) {
    same(16 * 10, count($granted), 'requests');
    same(CAPACITY, array_sum($granted), 'grants');
    // prepare() counts, too.
    same(16 * 10 * 5 + 1, TokenBucket\status()['remote']['asked'], 'calls');
}, function () {
    $db = connect();
    $db->exec('PRAGMA journal_mode = WAL');
    (new TokenBucketStoragePDO($db, 'limits'))->prepare();
});
