--TEST--
A stopped database is an outage, unlike a lost connection, and no password is shown
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\OnFailure;

$password = 'hunter2-' . bin2hex(random_bytes(4));
$servers = ['mysql' => MariaDbServer::start(), 'pgsql' => PostgreSqlServer::start()];
// Ignores PDO's own warnings about lost connections.
set_error_handler(fn () => true);
foreach ($servers as $driver => $server) {
    $db = $server->connect();
    (new TokenBucketStoragePDO($db, 'limits'))->prepare();
    if ($driver === 'mysql') {
        $db->exec("CREATE USER app@localhost IDENTIFIED BY '$password'");
        $db->exec('GRANT ALL ON test.* TO app@localhost');
        $connect = fn () => new PDO($server->dsn(), 'app', $password);
    } else {
        $db->exec("CREATE USER app PASSWORD '$password'");
        $db->exec('GRANT ALL ON limits TO app');
        $connect = fn () => new PDO($server->dsn() . ";user=app;password=$password");
    }
    // If the server ends one connection, each call on that connection throws. Other connections
    // still work.
    $db = $connect();
    $bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'limits', denialCache: false), 'b', 100, 0.1);
    check($bucket->consume(), "$driver: at first");
    $id = $db->query($driver === 'mysql' ? 'SELECT connection_id()' : 'SELECT pg_backend_pid()')->fetchColumn();
    $server->connect()->exec($driver === 'mysql' ? "KILL $id" : "SELECT pg_terminate_backend($id)");
    $exists = $driver === 'mysql'
        ? "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = $id"
        : "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = $id";
    wait_for("$driver: the connection ends", fn () => (int) $server->connect()->query($exists)->fetchColumn() === 0);
    $said = [];
    for ($i = 0; $i < 10; $i++) {
        try {
            $bucket->consume();
            echo "$driver: granted on a connection that is gone\n";
        } catch (TokenBucket\StorageException $e) {
            $said[] = (string) $e;
            check($e->getPrevious() instanceof PDOException || $i > 0, "$driver: previous");
        }
    }
    check(str_contains($said[0], 'the connection is lost'), "$driver: $said[0]");
    $other = new TokenBucket(new TokenBucketStoragePDO($connect(), 'limits', denialCache: false), 'b', 100, 0.1);
    check($other->consume(), "$driver: others go on");

    // A killed server is an outage.
    $buckets = [];
    foreach ([OnFailure::Throw, OnFailure::Throw, OnFailure::Throw, OnFailure::Throw, OnFailure::Local] as $policy) {
        $buckets[] = new TokenBucket(new TokenBucketStoragePDO($connect(), 'limits', $policy, false), 'b', 2, 0.001);
    }
    $server->kill();
    foreach ($buckets as $number => $bucket) {
        try {
            // With Local, the fallback on this host decides.
            $granted = json_encode([$bucket->consume(), $bucket->consume(), $bucket->consume()]);
            echo "$driver, $number: $granted\n";
        } catch (TokenBucket\StorageException $e) {
            $said[] = (string) $e;
        }
    }
    check(count($said) === 14, "$driver: " . count($said));
    // On a busy machine the fourth call may come after the pause, and probe the database. Then a
    // longer pause begins.
    wait_for("$driver: a call finds the breaker open", function () use (&$said, $buckets): bool {
        $said[] = thrown(fn () => $buckets[3]->consume());
        return str_contains(implode(array_slice($said, 13)), 'its breaker is open');
    });
    $store = current(array_filter(TokenBucket\status()['stores'], fn ($store) => $store['opened'] > 0 && str_starts_with($store['name'], $driver)));
    check($store['name'] === "$driver table limits", "$driver: " . json_encode($store));
    $text = implode($said) . json_encode(TokenBucket\status()) . print_r($buckets, true);
    ob_start();
    debug_zval_refcount($buckets[0]);
    phpinfo(INFO_MODULES);
    $text .= ob_get_clean();
    check(!str_contains($text, $password), "$driver tells the password");
}

function debug_zval_refcount(object $object): void
{
    var_dump($object);
}
?>
--EXPECT--
mysql, 4: [true,true,false]
pgsql, 4: [true,true,false]
