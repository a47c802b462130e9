<?php
/** Checks the contract of a PDO storage in every mode of its connection. */
require __DIR__ . '/../../tools/testkit/php/contract.php';

/** Checks the contract on a table, after deleting the rows of earlier checks. */
function contract(string $mode, PDO $db, TokenBucketStorage $storage, string $table = 'limits'): void
{
    str_ends_with($table, 'limits') && $db->exec("DELETE FROM $table");
    $in = $db->inTransaction();
    (new Contract($mode, $storage, fn (float $seconds) => usleep((int) ceil($seconds * 1e6)), $in))->check();
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
            $in = !$emulated || str_contains($setting, 'autocommit');
            $in && !$db->inTransaction() && $db->beginTransaction();
            contract("$driver, $setting" . ($in ? ', in a transaction' : ''), $db, $storage);
            $in && $db->commit();
        }
    }
    $db = $server->connect();
    foreach (["$schema.limits", "$schema.odd-name_$1", 'select', 'Order'] as $table) {
        $storage = new TokenBucketStoragePDO($db, $table);
        $storage->prepare();
        $storage->prepare();
        contract("$driver, $table", $db, $storage, $table);
    }
    echo "$driver\n";
}
