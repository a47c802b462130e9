--TEST--
On MySQL, a decision keeps the last insert id of the application
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
--FILE--
<?php
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/sql_servers.php';

$server = MariaDbServer::start();
foreach ([true, false] as $emulated) {
    $db = $server->connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
    $storage = new TokenBucketStoragePDOMySQL($db, 'limits');
    $storage->prepare();
    $db->exec('DROP TABLE IF EXISTS parent, child');
    $db->exec('CREATE TABLE parent (id bigint AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB');
    $db->exec('CREATE TABLE child (parent bigint) ENGINE=InnoDB');
    $bucket = fn (int $capacity = 3) => new TokenBucket($storage, uniqid(), $capacity, 0.001);
    $full = $bucket();
    $empty = $bucket(1);
    $empty->consume();
    $number = 0;
    foreach ([
        'a new bucket' => fn () => check($bucket()->consume(), 'granted'),
        'a grant' => fn () => check($full->consume(), 'granted'),
        'a denial' => fn () => check(!$empty->consume(), 'denied'),
        'several decisions' => fn () => check($full->consume() && !$empty->consume(), 'one of each'),
        'attemptAll()' => fn () => check(!TokenBucket::attemptAll([$full, $empty])->allowed, 'denied'),
        'in a transaction' => function () use ($db, $bucket, &$number) {
            check($db->beginTransaction() && $db->exec('INSERT INTO parent VALUES ()') === 1 && $bucket()->consume(), 'granted');
            check($db->lastInsertId() === (string) ++$number, 'before the commit: ' . $db->lastInsertId());
            $db->commit();
        },
    ] as $what => $decide) {
        $number++;
        $db->exec('INSERT INTO parent VALUES ()');
        $decide();
        // PDO forgets the id after a statement that creates none, such as a look at a bucket or a
        // commit.
        $expected = in_array($what, ['attemptAll()', 'in a transaction'], true) ? '0' : "$number";
        check($db->lastInsertId() === $expected, "$what: " . $db->lastInsertId());
        $db->exec('INSERT INTO child VALUES (LAST_INSERT_ID())');
        check($db->query('SELECT MAX(parent) FROM child')->fetchColumn() == $number, "$what: the server's id");
    }
    // Without an id to keep, a decision is still one statement.
    $questions = fn () => (int) $db->query("SHOW SESSION STATUS LIKE 'Com_insert_select'")->fetchColumn(1);
    $before = $questions();
    $full->consume(0);
    $full->consume(0);
    check($questions() === $before, 'no other statement');
}
echo "done\n";
?>
--EXPECT--
done
