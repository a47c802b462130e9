--TEST--
A call on MySQL knows its result if the table numbers its rows
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

$server = MariaDbServer::start();
$create = 'TABLE limits (id int AUTO_INCREMENT PRIMARY KEY, identifier varchar(255) NOT NULL UNIQUE, microtime double NOT NULL) ENGINE=InnoDB';
$server->connect()->exec("CREATE $create");
$server->connect()->exec('CREATE TABLE parent (id int AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB');
$server->connect()->exec('INSERT INTO parent VALUES (77)');
foreach ([[false, false], [true, false], [true, true]] as [$emulated, $finds]) {
    // PHP 8.5 deprecates this name. PHP 8.2 has no other name.
    $options = [PDO::ATTR_EMULATE_PREPARES => $emulated, @PDO::MYSQL_ATTR_FOUND_ROWS => $finds];
    foreach (['', 'TEMPORARY'] as $kind) {
        $db = $server->connect($options);
        $kind === '' || $db->exec("CREATE $kind $create");
        foreach ([TokenBucket\OnFailure::Throw, TokenBucket\OnFailure::Allow] as $policy) {
            $storage = new TokenBucketStoragePDO($db, 'limits', onFailure: $policy);
            $bucket = new TokenBucket($storage, uniqid(), 3, 0.001);
            $kept = new TokenBucket($storage, uniqid(), 3.5, 0.001);
            $quota = new TokenBucket\Quota($storage, uniqid(), 3, TokenBucket\Period::Year);
            $leaky = new TokenBucket($storage, uniqid(), 3, 0.001);
            foreach ([
                'a bucket' => fn () => $bucket->consume(),
                'a floor' => fn () => $kept->attempt(1, 0.5)->allowed,
                'a quota' => fn () => $quota->consume(),
                'a list' => fn () => TokenBucket::attemptAll([$leaky])->allowed,
            ] as $what => $take) {
                $db->exec('INSERT INTO parent VALUES ()');
                $id = $db->lastInsertId();
                $granted = 0;
                for ($i = 0; $i < 12; $i++) {
                    $granted += (int) $take();
                }
                check($granted === 3, "$kind, $what, $policy->name: $granted of 12");
                check($db->lastInsertId() === $id, "$kind, $what, $policy->name: the id is $id");
                check($db->query('SELECT LAST_INSERT_ID()')->fetchColumn() == $id, "$kind, $what: the server's id");
            }
            // The first call of a quota reads the rest.
            $other = new TokenBucket\Quota($storage, uniqid(), 3, TokenBucket\Period::Year);
            check($other->attempt()->remaining === 2.0 && $other->refund() === null, "$kind: the first call of a quota");
            check($other->peek()->remaining === 3.0, "$kind: the first call given back");
            check((new TokenBucket($storage, uniqid(), 3, 0.001))->attempt(2)->remaining === 1.0, "$kind: a first call");
        }
    }
}
echo "done\n";
?>
--EXPECT--
done
