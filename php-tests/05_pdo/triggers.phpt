--TEST--
A call on MySQL knows its result if the table has triggers for each row or is locked
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$server = MariaDbServer::start();
$db = $server->connect();
(new TokenBucketStoragePDO($db, 'limits'))->prepare();
$db->exec('CREATE TABLE parent (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB');
$db->exec('CREATE TABLE copies (id int AUTO_INCREMENT PRIMARY KEY, event varchar(9)) ENGINE=InnoDB');
foreach (['INSERT', 'UPDATE', 'DELETE'] as $event) {
    $db->exec("CREATE TRIGGER on_$event AFTER $event ON limits FOR EACH ROW INSERT INTO copies (event) VALUES ('$event')");
}
foreach ([true, false] as $emulated) {
    $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
    foreach ([TokenBucket\OnFailure::Throw, TokenBucket\OnFailure::Allow] as $policy) {
        $storage = new TokenBucketStoragePDO($db, 'limits', onFailure: $policy);
        $bucket = new TokenBucket($storage, uniqid(), 3, 0.001);
        $kept = new TokenBucket($storage, uniqid(), 3.5, 0.001);
        $quota = new TokenBucket\Quota($storage, uniqid(), 3, TokenBucket\Period::Year);
        foreach ([
            'a bucket' => fn () => $bucket->consume(),
            'a floor' => fn () => $kept->attempt(1, 0.5)->allowed,
            'a quota' => fn () => $quota->consume(),
        ] as $what => $take) {
            $db->exec('INSERT INTO parent VALUES ()');
            $id = $db->lastInsertId();
            $granted = 0;
            for ($i = 0; $i < 12; $i++) {
                $granted += (int) $take();
            }
            check($granted === 3, "$what, $policy->name: $granted of 12");
            check($db->lastInsertId() === $id, "$what, $policy->name: the id is $id");
            check($db->query('SELECT LAST_INSERT_ID()')->fetchColumn() == $id, "$what: the server's id");
        }
    }
}
check($db->query("SELECT COUNT(*) FROM copies WHERE event = 'INSERT'")->fetchColumn() >= 12, 'the triggers ran');

// A call needs no lock of an alias.
$quota = new TokenBucket\Quota(new TokenBucketStoragePDO($db, 'limits'), 'locked', 3, TokenBucket\Period::Year);
check($quota->consume(), 'before the locks');
$db->exec('LOCK TABLES limits WRITE, copies WRITE');
check($quota->consume() && $quota->peek()->remaining === 1.0, 'in LOCK TABLES');
$db->exec('UNLOCK TABLES');
echo "done\n";
?>
--EXPECT--
done
