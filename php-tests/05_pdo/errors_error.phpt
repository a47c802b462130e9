--TEST--
Database errors are thrown or handled by the failure policy, and change no data
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_pgsql
pdo_sqlite
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\OnFailure;

$modes = ['silent' => PDO::ERRMODE_SILENT, 'warning' => PDO::ERRMODE_WARNING, 'exception' => PDO::ERRMODE_EXCEPTION];
foreach (sql_servers() as $driver => $server) {
    foreach ($modes as $mode => $errmode) {
        foreach ([true, false] as $emulated) {
            $what = "$driver, $mode" . ($emulated ? '' : ', native');
            $db = $server->connect([PDO::ATTR_ERRMODE => $errmode, PDO::ATTR_EMULATE_PREPARES => $emulated]);
            $warnings = [];
            set_error_handler(function ($level, $message) use (&$warnings) {
                $warnings[] = $message;
                return true;
            });
            // Calls fail if the table is missing.
            $missing = new TokenBucket(new TokenBucketStoragePDO($db, 'missing'), 'b', 3, 0.1);
            foreach (['consume', 'attempt', 'peek', 'refund', 'reset', 'drain'] as $method) {
                $e = null;
                try {
                    $missing->$method();
                } catch (TokenBucket\StorageException $e) {
                }
                check($e !== null, "$what: $method() on a missing table");
                check(
                    str_starts_with($e->getMessage(), "$driver table missing: the statement failed: SQLSTATE"),
                    "$what: " . $e->getMessage()
                );
                check(
                    $errmode === PDO::ERRMODE_EXCEPTION
                        ? $e->getPrevious() instanceof PDOException && $e->getPrevious()->getPrevious() === null
                        : $e->getPrevious() === null,
                    "$what: previous"
                );
            }
            check(($warnings !== []) === ($errmode === PDO::ERRMODE_WARNING), "$what: " . json_encode($warnings));
            // Checks the other failure policies.
            foreach ([[OnFailure::Allow, true], [OnFailure::Deny, false], [OnFailure::Local, true]] as [$policy, $expected]) {
                $db->exec('CREATE TABLE missing (identifier varchar(255) PRIMARY KEY, microtime double precision)');
                $bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'missing', $policy), "$what $policy->name", 1, 0.001);
                $bucket->peek();
                $db->exec('DROP TABLE missing');
                $warnings = [];
                check($bucket->consume() === $expected, "$what: $policy->name");
                check($bucket->consume() === ($policy === OnFailure::Allow), "$what: $policy->name again");
                // The store warns about failed statements at most once a minute.
                $ours = preg_grep('/the statement failed: SQLSTATE.*; (allowing all calls|denying all calls|using shared memory of this host)/', $warnings);
                check(count($ours) === (int) !isset($warned[$driver]), "$what: $policy->name warns: " . json_encode($warnings));
                $warned[$driver] = true;
            }
            restore_error_handler();

            // Calls fail if the table has other columns.
            set_error_handler(fn () => true);
            $shapes = ['(id int)', '(identifier varchar(255) PRIMARY KEY)', '(identifier varchar(255), microtime int, other int)'];
            foreach ($shapes as $number => $shape) {
                $db->exec("DROP TABLE IF EXISTS shape$number");
                $db->exec("CREATE TABLE shape$number $shape");
                $odd = new TokenBucket(new TokenBucketStoragePDO($db, "shape$number"), 'b', 3, 0.1);
                check(str_contains(thrown(fn () => $odd->consume()), 'StorageException'), "$what: $shape");
                check($db->query("SELECT COUNT(*) FROM shape$number")->fetchColumn() == 0, "$what: no row");
            }
            // Calls fail on rows with invalid records, and leave the rows unchanged.
            $double = ['mysql' => 'double', 'pgsql' => 'double precision', 'sqlite' => 'blob'][$driver];
            $db->exec("CREATE TABLE odd (identifier varchar(255) PRIMARY KEY, microtime $double)");
            $rows = ['null' => 'NULL', 'milliseconds' => '1.79e12', 'huge' => '1e300', 'far' => '9e9'];
            $rows += $driver === 'pgsql' ? ['nan' => "'NaN'", 'infinite' => "'Infinity'"] : [];
            $rows += $driver === 'sqlite' ? ['text' => "'abc'", 'digits' => "'17'", 'blob' => "x'00'"] : [];
            foreach ($rows as $name => $value) {
                $db->exec("INSERT INTO odd VALUES ('$name', $value)");
                $row = fn () => $db->query("SELECT microtime FROM odd WHERE identifier = '$name'")->fetchColumn();
                $before = var_export($row(), true);
                $bucket = new TokenBucket(new TokenBucketStoragePDO($db, 'odd'), $name, 3, 0.1);
                foreach (['consume', 'peek'] as $method) {
                    $message = thrown(fn () => $bucket->$method());
                    check(str_ends_with($message, 'the key does not hold a record of this limiter'), "$what: $name: $message");
                }
                thrown(fn () => $bucket->refund());
                (new TokenBucketStoragePDO($db, 'odd'))->bootstrap($name, 1.0);
                check(var_export($row(), true) === $before, "$what: $name is left as it is");
            }
            check((new TokenBucketStoragePDO($db, 'odd'))->purge(1.0) === 0, "$what: purge() leaves them");
            $db->exec('DROP TABLE odd');
            restore_error_handler();
        }
    }
    if ($driver === 'mysql') {
        // Unread rows of another query block the connection. The call fails and leaves the rows
        // readable. PHP 8.5 deprecates the name of the option, but PHP 8.2 has no other name.
        $db = $server->connect([@PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
        $storage = new TokenBucketStoragePDO($db, 'waiting');
        $storage->prepare();
        $rows = $db->query('SELECT 1 UNION SELECT 2 UNION SELECT 3');
        $rows->fetch();
        $message = thrown(fn () => (new TokenBucket($storage, 'b', 1, 1))->consume());
        check(str_contains($message, 'unbuffered'), $message);
        check(count($rows->fetchAll()) === 2, 'the rows are there');
        check((new TokenBucket($storage, 'b', 1, 1))->consume(), 'and then it goes on');
    }
    check(TokenBucket\status()['stores'][0]['breaker'] === 'closed', "$driver: no outage");
    echo "$driver\n";
}
?>
--EXPECT--
mysql
pgsql
sqlite
