<?php
/** Checks the contract of a PDO storage in every mode of its connection. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** A bucket that starts with a debt of two tokens. */
class StartsInDebt extends TokenBucket
{
    protected function _bootstrap($initialTokens)
    {
        parent::_bootstrap(-2);
    }
}

/** Checks the behaviour that every storage must have. Uses new buckets in each mode. */
function contract(string $mode, PDO $db, TokenBucketStorage $storage): void
{
    static $number = 0;
    $id = 'bucket ' . ++$number;
    $in = $db->inTransaction();
    $start = hrtime(true);
    $bucket = new TokenBucket($storage, $id, 3, 0.01);
    check($bucket->peek(3)->allowed && $bucket->peek()->remaining === 3.0, "$mode: full at first");
    check([$bucket->consume(), $bucket->consume(2), $bucket->consume()] === [true, true, false], "$mode: three of three");
    check($bucket->consume(0) === true && $bucket->consume(4) === false, "$mode: none and too many");
    $denied = $bucket->attempt();
    check($denied->reason === 'insufficient_tokens' && $denied->remaining === 0.0, "$mode: denied");
    // The times of a cached denial can be wrong by the duration of a statement. A database may
    // read a clock that is some milliseconds old.
    $elapsed = (hrtime(true) - $start) / 1e9 + 0.05;
    check(abs($denied->retryAfter - 100) <= $elapsed, "$mode: retryAfter $denied->retryAfter");
    check(abs($denied->resetAfter - 300) <= $elapsed, "$mode: resetAfter $denied->resetAfter");
    $bucket->refund(2);
    check($bucket->peek()->remaining === 2.0, "$mode: refund");
    $bucket->refund(3);
    check($bucket->peek()->remaining === 3.0, "$mode: refund up to the capacity");
    $bucket->consume(3);
    $bucket->reset();
    check($bucket->attempt(3)->allowed, "$mode: reset");

    // wait() waits only until the missing token is refilled.
    $fast = new TokenBucket($storage, "fast $id", 2, 50);
    check($fast->consume(2) && $fast->wait(900, 1)->allowed, "$mode: wait");
    // At this rate, the cost of a token is one microsecond, which is the lowest cost.
    $finest = new TokenBucket($storage, "finest $id", 5, 1_000_000);
    check($finest->consume(5), "$mode: five at once");

    // charge() leaves a debt, and settle() makes it smaller.
    $debtor = new TokenBucket($storage, "debtor $id", 3, 0.01);
    check($debtor->charge(5)->remaining === -2.0 && !$debtor->consume(0), "$mode: charge");
    check($debtor->settle(5, 6)->remaining === -3.0, "$mode: settle for more");
    check($debtor->settle(6, 1)->remaining === 2.0, "$mode: settle for less");
    check($debtor->consume(2) && !$debtor->consume(), "$mode: settled");

    // Reservations follow each other. Cancelling one returns only the part of its cost that exceeds
    // the cost of later reservations.
    $queue = new TokenBucket($storage, "queue $id", 3, 0.001);
    $delays = [];
    foreach ([3, 1, 2, 1] as $tokens) {
        $delays[] = round(($reserved[] = $queue->reserve($tokens))->delay, -2);
    }
    check($delays === [0.0, 1000.0, 3000.0, 4000.0], "$mode: reserve " . json_encode($delays));
    check(!$queue->reserve(1, 4500)->decision->allowed, "$mode: a wait that is too long");
    $reserved[1]->cancel();
    check(round($queue->reserve()->delay, -2) === 5000.0, "$mode: cancel an early one");
    ($last = $queue->reserve())->cancel();
    $last->cancel();
    check(round($queue->reserve()->delay, -2) === 6000.0, "$mode: cancel the last one");
    $reserved = [];

    // Cancels never give back what a later reservation needs, also under a smaller quota.
    $several = new TokenBucket($storage, "several $id", 3, 0.001);
    $single = new TokenBucket($storage, "several $id", 1, 0.001);
    $reserved = [$several->reserve(3), $several->reserve(3), $several->reserve(3), $single->reserve()];
    check(round($reserved[3]->delay, -2) === 7000.0, "$mode: a smaller quota");
    $reserved[2]->cancel();
    $reserved[1]->cancel();
    check(round($single->reserve()->delay, -2) === 8000.0, "$mode: two cancels");
    $reserved = [];

    // A first state in debt counts against the longest wait.
    $late = new StartsInDebt($storage, "late $id", 3, 0.001);
    $denied = $late->reserve(1, 1000);
    check(!$denied->decision->allowed && $denied->decision->remaining === -1.0, "$mode: a first state that is too late");
    check($late->wait(1000)->reason === 'insufficient_tokens', "$mode: wait() for a first state that is too late");
    check(round($late->reserve(1, 3000)->delay, -2) === 2000.0, "$mode: a first state in time");

    // bootstrap() creates a record, and never overwrites a record.
    $storage->bootstrap("boot $id", microtime(true) - 150);
    $boot = new TokenBucket($storage, "boot $id", 3, 0.01);
    check($boot->peek()->remaining === 1.0, "$mode: bootstrap");
    $storage->bootstrap("boot $id", microtime(true) - 1000);
    check($boot->peek()->remaining === 1.0, "$mode: bootstrap does not overwrite");
    $boot->reset();
    $storage->bootstrap("boot $id", microtime(true) - 150);
    check($boot->peek()->remaining === 1.0, "$mode: bootstrap after reset");

    // consume() of the storage interface calls its closure.
    $refuse = fn () => false;
    check($storage->consume("raw $id", 100, 300, $refuse) === false, "$mode: the closure refuses");
    $accept = function () use ($storage, $id) {
        $storage->bootstrap("raw $id", microtime(true) - 200);
        return true;
    };
    check($storage->consume("raw $id", 100, 300, $accept) === true, "$mode: the closure accepts");
    $raw = new TokenBucket($storage, "raw $id", 3, 0.01);
    // The state that the closure proposed is the state after the call.
    check($raw->peek()->remaining === 2.0, "$mode: as it proposed");
    $never = fn () => throw new LogicException('not to be called');
    check($storage->consume("raw $id", 100, 300, $never) === true, "$mode: later the closure is not called");

    $all = [$raw, new TokenBucket($storage, "other $id", 5, 0.01)];
    check(TokenBucket::attemptAll($all)->allowed && $raw->peek()->remaining === 0.0, "$mode: attemptAll");
    check(!TokenBucket::attemptAll($all)->allowed && $all[1]->peek()->remaining === 4.0, "$mode: attemptAll refuses");
    $each = TokenBucket::attemptEach(['one' => [$all[1], 3], 'two' => $raw, 'three' => [$all[1], 3]]);
    $said = array_map(fn ($decision) => [$decision->allowed, $decision->remaining], $each);
    check($said === ['one' => [true, 1.0], 'two' => [false, 0.0], 'three' => [false, 1.0]], "$mode: attemptEach: " . json_encode($said));
    check($db->inTransaction() === $in, "$mode: the transaction is left as it was");
}

/**
 * Checks the contract in all modes of PDO, under settings of the session, and with several table
 * names.
 *
 * @param array<string, array<int, mixed>> $own attributes of this driver by mode
 * @param list<string> $settings statements that change the session
 */
function contract_in_all_modes(string $driver, MariaDbServer|PostgreSqlServer|SqliteFile $server, array $own, array $settings, string $schema): void
{
    $modes = [
        'emulated' => [PDO::ATTR_EMULATE_PREPARES => true],
        'native' => [PDO::ATTR_EMULATE_PREPARES => false],
        'silent' => [PDO::ATTR_ERRMODE => PDO::ERRMODE_SILENT],
        'warning, native' => [PDO::ATTR_ERRMODE => PDO::ERRMODE_WARNING, PDO::ATTR_EMULATE_PREPARES => false],
        'persistent' => [PDO::ATTR_PERSISTENT => true],
        'persistent, native' => [PDO::ATTR_PERSISTENT => true, PDO::ATTR_EMULATE_PREPARES => false],
        'strings' => [
            PDO::ATTR_STRINGIFY_FETCHES => true, PDO::ATTR_ORACLE_NULLS => PDO::NULL_TO_STRING,
            PDO::ATTR_CASE => PDO::CASE_UPPER, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_OBJ,
        ],
    ];
    $modes += $own;
    foreach ($modes as $mode => $attributes) {
        $db = $server->connect($attributes);
        $storage = new TokenBucketStoragePDO($db, 'limits');
        $storage->prepare();
        contract("$driver, $mode", $db, $storage);
        $db->beginTransaction();
        contract("$driver, $mode, in a transaction", $db, $storage);
        $db->commit();
        unset($storage, $db);
    }
    foreach ($settings as $setting) {
        foreach ([true, false] as $emulated) {
            $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
            $db->exec($setting);
            $storage = new TokenBucketStoragePDO($db, 'limits');
            // Without autocommit, a transaction begins with the first statement.
            if (!str_contains($setting, 'autocommit')) {
                contract("$driver, $setting", $db, $storage);
            }
            $db->inTransaction() || $db->beginTransaction();
            contract("$driver, $setting, in a transaction", $db, $storage);
            $db->commit();
        }
    }
    $db = $server->connect();
    foreach (["$schema.limits", "$schema.odd-name_$1", 'select', 'Order'] as $table) {
        $storage = new TokenBucketStoragePDO($db, $table);
        $storage->prepare();
        $storage->prepare();
        contract("$driver, $table", $db, $storage);
    }
    echo "$driver\n";
}
