--TEST--
A call keeps the last insert id of the application
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

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
    // The greatest ids are in the range of the replies that decisions leave in lastInsertId().
    foreach (['9223372036854775807', '4611686018427387904'] as $id) {
        $db->exec('CREATE TABLE far (id bigint UNSIGNED AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB');
        $bucket()->consume();
        $db->exec("INSERT INTO far VALUES ($id)");
        $bucket()->consume();
        check($db->lastInsertId() === $id, "a great id: " . $db->lastInsertId());
        $db->exec('DROP TABLE far');
    }
    foreach ([
        'a new bucket' => fn () => check($bucket()->consume(), 'granted'),
        'a grant' => fn () => check($full->consume(), 'granted'),
        'a denial' => fn () => check(!$empty->consume(), 'denied'),
        'peek()' => fn () => check(!$empty->peek()->allowed, 'nothing left'),
        'refund(), drain() and reset()' => function () use ($bucket) {
            $other = $bucket();
            $other->drain();
            $other->refund();
            $other->reset();
        },
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
        // PDO forgets the id after a statement of the application that creates none, such as a
        // commit.
        $expected = $what === 'in a transaction' ? '0' : "$number";
        check($db->lastInsertId() === $expected, "$what: " . $db->lastInsertId());
        $db->exec('INSERT INTO child VALUES (LAST_INSERT_ID())');
        check($db->query('SELECT MAX(parent) FROM child')->fetchColumn() == $number, "$what: the server's id");
    }
    // If PDO has no id, a call runs no statement to restore it.
    $questions = fn () => (int) $db->query("SHOW SESSION STATUS LIKE 'Com_insert_select'")->fetchColumn(1);
    $before = $questions();
    $full->consume(0);
    $full->consume(0);
    check($questions() === $before, 'no other statement');
}

// A user may lack the privilege to insert, without which a call cannot restore PDO's id. The
// server's id stays.
$setup = $server->connect();
$setup->exec('CREATE USER reader@localhost');
$setup->exec('GRANT SELECT ON test.limits TO reader@localhost');
$setup->exec('GRANT SELECT, INSERT ON test.parent TO reader@localhost');
$db = new PDO($server->dsn(), 'reader', '');
$db->exec('INSERT INTO parent VALUES ()');
$id = $db->lastInsertId();
check((new TokenBucket(new TokenBucketStoragePDO($db, 'limits'), 'read', 3, 0.001))->peek()->allowed, 'a reader');
check($db->query('SELECT LAST_INSERT_ID()')->fetchColumn() == $id, "a reader's id");

// On SQLite, the id stays the same when prepare() creates a table and the first call inserts a row.
$server = SqliteFile::start();
$db = $server->connect();
$db->exec('CREATE TABLE parent (id integer PRIMARY KEY)');
$db->exec('INSERT INTO parent VALUES (77)');
$storage = new TokenBucketStoragePDO($db, 'limits');
$storage->prepare();
$bucket = new TokenBucket($storage, 'b', 3, 0.001);
foreach (['consume', 'attempt', 'peek', 'refund', 'drain', 'reset', 'drain'] as $method) {
    $bucket->$method();
    check($db->lastInsertId() === '77', "sqlite, $method(): " . $db->lastInsertId());
}
$storage->bootstrap('c', microtime(true));
TokenBucket::attemptAll([new TokenBucket($storage, 'd', 3, 0.001), new TokenBucket($storage, 'e', 3, 0.001)]);
check($db->lastInsertId() === '77', 'sqlite, others: ' . $db->lastInsertId());
echo "done\n";
?>
--EXPECT--
done
