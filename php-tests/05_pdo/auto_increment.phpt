--TEST--
A call on MySQL knows its result if the table numbers its rows, has triggers for each row or is locked
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\{OnFailure, Period, Quota};

/** Checks that calls on a table grant what they should, and keep the last id of the application. */
function check_calls(PDO $db, string $table, string $what): void
{
    foreach ([OnFailure::Throw, OnFailure::Allow] as $policy) {
        $storage = new TokenBucketStoragePDO($db, $table, onFailure: $policy);
        $bucket = new TokenBucket($storage, uniqid(), 3, 0.001);
        $kept = new TokenBucket($storage, uniqid(), 3.5, 0.001);
        $quota = new Quota($storage, uniqid(), 3, Period::Year);
        $listed = new TokenBucket($storage, uniqid(), 3, 0.001);
        foreach ([
            'a bucket' => fn () => $bucket->consume(),
            'a floor' => fn () => $kept->attempt(1, 0.5)->allowed,
            'a quota' => fn () => $quota->consume(),
            'a list' => fn () => TokenBucket::attemptAll([$listed])->allowed,
        ] as $of => $take) {
            $db->exec('INSERT INTO parent VALUES ()');
            $id = $db->lastInsertId();
            $granted = 0;
            for ($i = 0; $i < 12; $i++) {
                $granted += (int) $take();
            }
            check($granted === 3, "$what, $of, $policy->name: $granted of 12");
            check($db->lastInsertId() === $id, "$what, $of, $policy->name: the id is $id");
            check($db->query('SELECT LAST_INSERT_ID()')->fetchColumn() == $id, "$what, $of: the server's id");
        }
        // The first call of a quota reads the rest.
        $other = new Quota($storage, uniqid(), 3, Period::Year);
        check($other->attempt()->remaining === 2.0 && $other->refund() === null, "$what: the first call of a quota");
        check($other->peek()->remaining === 3.0, "$what: the first call given back");
        check((new TokenBucket($storage, uniqid(), 3, 0.001))->attempt(2)->remaining === 1.0, "$what: a first call");
    }
}

$server = MariaDbServer::start();
$db = $server->connect();
$create = 'TABLE limits (id int AUTO_INCREMENT PRIMARY KEY, identifier varchar(255) NOT NULL UNIQUE, microtime double NOT NULL) ENGINE=InnoDB';
$db->exec("CREATE $create");
$db->exec('CREATE TABLE parent (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB');
$db->exec('INSERT INTO parent VALUES (77)');
(new TokenBucketStoragePDO($db, 'watched'))->prepare();
$db->exec('CREATE TABLE copies (id int AUTO_INCREMENT PRIMARY KEY, event varchar(9)) ENGINE=InnoDB');
foreach (['INSERT', 'UPDATE', 'DELETE'] as $event) {
    $db->exec("CREATE TRIGGER on_$event AFTER $event ON watched FOR EACH ROW INSERT INTO copies (event) VALUES ('$event')");
}
foreach ([[true, true], [true, false], [false, false]] as [$emulated, $finds]) {
    // PHP 8.5 deprecates this name. PHP 8.2 has no other name.
    $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated, @PDO::MYSQL_ATTR_FOUND_ROWS => $finds]);
    check_calls($db, 'limits', 'numbered');
    $finds || check_calls($db, 'watched', 'with triggers');
    $db->exec("CREATE TEMPORARY $create");
    check_calls($db, 'limits', 'temporary');
}
check($db->query("SELECT COUNT(*) FROM copies WHERE event = 'INSERT'")->fetchColumn() >= 12, 'the triggers ran');

// A call needs no lock of an alias.
$quota = new Quota(new TokenBucketStoragePDO($db, 'watched'), 'locked', 3, Period::Year);
check($quota->consume(), 'before the locks');
$db->exec('LOCK TABLES watched WRITE, copies WRITE');
check($quota->consume() && $quota->peek()->remaining === 1.0, 'in LOCK TABLES');
$db->exec('UNLOCK TABLES');
echo "done\n";
?>
--EXPECT--
done
