<?php
/** Buckets in a table: the userland class, our class, and our class's statement by hand, all on one connection. */

/** Microseconds that refill a token, and all of a bucket's. */
const COST = 1_000_000;
const BURST = MUCH * COST;
/** A bucket of one token, which takes eleven days. */
const SLOW = COST * 1_000_000;

/** @return array<string, Row> granted and denied, by hand and by our class */
function upsert_rows(PDO $db, UpsertByHand $upsert, string $place): array
{
    $rows = [];
    $variables = ['upsert' => $upsert];
    foreach (['granted' => [COST, BURST], 'denied' => [SLOW, SLOW]] as $what => [$cost, $burst]) {
        $call = "\$upsert->take('hand $what $place', $cost, $burst)";
        begin(fn () => evaluate($call, $variables), $what === 'granted');
        $rows["hand, $what"] = new Row("the upsert by hand, $what", $call, $variables, 1);
    }
    $storage = $upsert instanceof MySqlUpsert ? new TokenBucketStoragePDOMySQL($db, 'limits') : new TokenBucketStoragePDO($db, 'limits');
    $asking = new TokenBucketStoragePDO($db, 'limits', hints: false);
    $hinting = new TokenBucketStoragePDO($db, 'limits', hintMaxAge: HINT_AGE);
    return $rows + [
        'ours, granted' => row_of_bucket('TokenBucket, granted', $storage, "ours granted $place", true, 1),
        'ours, denied' => row_of_bucket('TokenBucket, denied, no hints', $asking, "ours denied $place", false, 1),
        'ours, hinted' => row_of_bucket('TokenBucket, denied by a hint', $hinting, "hint denied $place", false, MANY_TURNS),
    ];
}

function row_of_bucket(string $name, TokenBucketStorage $storage, string $identifier, bool $grants, int $turns): Row
{
    $bucket = new TokenBucket($storage, $identifier, $grants ? MUCH : 1, $grants ? 1 : 1e-6);
    begin(fn () => $bucket->consume(), $grants);
    return new Row($name, '$bucket->consume()', ['bucket' => $bucket], $turns);
}

/** @return array<string, Row> the transaction that the userland storage makes of it */
function transaction_rows(PDO $db, string $place): array
{
    $rows = [];
    $storage = new UserlandStoragePDOMySQL($db, 'limits');
    foreach (['granted' => true, 'denied' => false] as $what => $grants) {
        $bucket = new UserlandTokenBucket($storage, "user $what $place", $grants ? MUCH : 1, $grants ? 1 : 1e-6);
        begin(fn () => $bucket->consume(), $grants);
        $rows["userland, $what"] = new Row("userland class, $what", '$bucket->consume()', ['bucket' => $bucket], 1);
    }
    return $rows;
}

/** @param class-string<UpsertByHand> $by_hand */
function measure_table(string $title, MariaDbServer|PostgreSqlServer|SqliteFile $server, string $by_hand, ?bool $emulate = null): void
{
    $db = $server->connect($emulate === null ? [] : [PDO::ATTR_EMULATE_PREPARES => $emulate]);
    (new TokenBucketStoragePDO($db, 'limits'))->prepare();
    $place = $emulate === false ? 'native' : 'plain_';
    $rows = upsert_rows($db, new $by_hand($db, $server->connect([], ListeningPDO::class)), $place);
    if ($server instanceof MariaDbServer) {
        $rows += transaction_rows($db, $place);
    }
    if ($server instanceof SqliteFile) {
        // Nothing is remembered of it.
        unset($rows['ours, hinted']);
    }
    $before = TokenBucket\status()['remote'];
    sample($rows);
    $counted = TokenBucket\status()['remote'];
    $hinted = $rows['ours, hinted']->calls ?? 0;
    must($counted['hinted'] - $before['hinted'] === $hinted, 'not every denial came from a hint');
    must($counted['asked'] - $before['asked'] === $rows['ours, granted']->calls + $rows['ours, denied']->calls, 'a hint spared a question');
    must($counted['failed'] === $before['failed'], 'a database failed');
    title($title);
    foreach (['granted', 'denied'] as $what) {
        [$ours, $hand, $userland] = [$rows["ours, $what"], $rows["hand, $what"], $rows["userland, $what"] ?? null];
        if ($userland !== null) {
            report($userland);
            report_rival($ours, $userland);
            if ($what === 'denied') {
                report_rival($rows['ours, hinted'], $userland);
            }
        }
        report($hand);
        report($ours, $hand, 1.1);
    }
    if ($userland === null) {
        isset($rows['ours, hinted']) && report_rival($rows['ours, hinted'], $rows['hand, denied']);
    }
}
