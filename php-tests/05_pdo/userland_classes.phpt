--TEST--
Storages work with userland classes of connections, statements and storages, and with code that runs in a call
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_sqlite
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** A statement after whose next execution $behind runs once. */
class BusyStatement extends PDOStatement
{
    public static ?Closure $behind = null;

    protected function __construct()
    {
    }

    public function execute(?array $params = null): bool
    {
        $done = parent::execute($params);
        if ($behind = self::$behind) {
            self::$behind = null;
            $behind();
        }
        return $done;
    }
}

class LoudPDO extends PDO
{
    public array $prepared = [];

    public function prepare(string $query, array $options = []): PDOStatement|false
    {
        $this->prepared[] = strtok($query, ' ');
        return parent::prepare($query, $options);
    }
}

/** A PDO without a connection that passes its calls on to $real. */
class LazyPDO extends PDO
{
    public static ?PDO $real = null;

    public function __construct()
    {
    }

    public function getAttribute(int $attribute): mixed
    {
        return self::$real->getAttribute($attribute);
    }

    public function prepare(string $query, array $options = []): PDOStatement|false
    {
        return self::$real->prepare($query, $options);
    }

    public function inTransaction(): bool
    {
        return self::$real->inTransaction();
    }

    public function lastInsertId(?string $name = null): string|false
    {
        return self::$real->lastInsertId($name);
    }

    public function errorInfo(): array
    {
        return self::$real->errorInfo();
    }
}

class Prefixed extends TokenBucketStoragePDO
{
    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        echo "consume $identifier\n";
        return parent::consume("my $identifier", $microtime, $full_microtime, function () use ($identifier, $microtime, $full_microtime) {
            $this->bootstrap("my $identifier", microtime(true) - $full_microtime + $microtime);
            return true;
        });
    }
}

class Plain extends TokenBucketStoragePDO
{
    public $note = 'mine';
}

fold_equal_lines();
$tests = [
    'a PDO object that connects late' => function (string $driver, MariaDbServer|SqliteFile $server): void {
        // This PDO object has no connection. Its methods use the connection of another object.
        LazyPDO::$real = $server->connect();
        $lazy = new TokenBucketStoragePDO(new LazyPDO, 'limits');
        $bucket = new TokenBucket($lazy, 'lazy', 1, 0.001);
        check([$bucket->consume(), $bucket->consume(), $bucket->consume()] === [true, false, false], "$driver: lazy");
        check(TokenBucket::attemptAll([$bucket])->allowed === false, "$driver: lazy, all");
    },
    'classes may extend the storages' => function (string $driver, MariaDbServer|SqliteFile $server): void {
        // Tests a subclass that changes identifiers and a subclass that overrides no method.
        $prefixed = new Prefixed($server->connect(), 'limits');
        $bucket = new TokenBucket($prefixed, 'b', 2, 0.001);
        check([$bucket->consume(), $bucket->consume(), $bucket->consume()] === [true, true, false], "$driver: prefixed");
        check(str_contains(thrown(fn () => $bucket->peek()), 'LogicException'), "$driver: of userland");
        $plain = new Plain($server->connect(), 'limits');
        check((new TokenBucket($plain, 'my b', 2, 0.001))->peek()->remaining === 0.0, "$driver: a plain subclass is native");
    },
    'a storage prepares each statement once' => function (string $driver, MariaDbServer|SqliteFile $server): void {
        $db = $server->connect([], LoudPDO::class);
        $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
        $storage->prepare();
        // The first call of a process also asks for the collation of the column.
        (new TokenBucket(new TokenBucketStoragePDO($db, 'limits', denialCache: false), 'b', 100, 0.001))->peek();
        $db->prepared = [];
        $bucket = new TokenBucket($storage, 'b', 100, 0.001);
        for ($i = 0; $i < 10; $i++) {
            $bucket->consume();
            $bucket->peek();
        }
        check($db->prepared === ['INSERT', 'SELECT'], "$driver: prepared once: " . json_encode($db->prepared));
    },
    'a storage detects statements that run after its own, and rethrows their exceptions' => function (string $driver, MariaDbServer|SqliteFile $server): void {
        $db = $server->connect([], LoudPDO::class);
        // After a statement of the storage, userland code makes another call on the same storage.
        // On MySQL, that call changes the last insert id, which holds the result of the outer call.
        $db->setAttribute(PDO::ATTR_STATEMENT_CLASS, [BusyStatement::class]);
        $storage = new TokenBucketStoragePDO($db, 'limits', denialCache: false);
        $outer = new TokenBucket($storage, 'outer', 1, 0.001);
        $inner = new TokenBucket($storage, 'inner', 5, 0.001);
        $outer->consume();
        BusyStatement::$behind = function () use ($inner) {
            check($inner->consume(), 'inner');
        };
        // On MySQL, the inner call restores the id of the outer call. SQLite needs no id, because
        // each statement has its own rows.
        $said = thrown(fn () => check(!$outer->consume(), 'outer is empty'));
        check($said === 'nothing thrown', "$driver: $said");
        check($inner->peek()->remaining === 4.0 && !$outer->consume(), "$driver: after it");
        if ($driver === 'mysql') {
            $db->exec('CREATE TABLE log (id int AUTO_INCREMENT PRIMARY KEY)');
            BusyStatement::$behind = fn () => $db->exec('INSERT INTO log VALUES ()');
            check(str_contains(thrown(fn () => $inner->consume()), 'last insert id'), 'a log is no answer');
        }
        BusyStatement::$behind = fn () => throw new DomainException('not of PDO');
        check(thrown(fn () => $inner->consume()) === 'DomainException: not of PDO', "$driver: exceptions of others");
        check($inner->consume(), "$driver: then as before");
    },
    'an error handler may call the bucket again, throw, or release the storage' => function (string $driver, MariaDbServer|SqliteFile $server): void {
        $db = $server->connect([PDO::ATTR_ERRMODE => PDO::ERRMODE_WARNING]);
        $missing = new TokenBucketStoragePDO($db, 'missing');
        $bucket = new TokenBucket($missing, 'b', 5, 0.001);
        $depth = 0;
        set_error_handler(function () use (&$depth, &$bucket) {
            if ($depth++ < 3) {
                thrown(fn () => @$bucket->consume());
            }
            return true;
        });
        check(str_contains(thrown(fn () => $bucket->consume()), 'StorageException') && $depth === 1, "$driver: nested: $depth");
        set_error_handler(fn ($level, $message) => throw new ErrorException($message));
        check(str_starts_with(thrown(fn () => $bucket->consume()), 'ErrorException: '), "$driver: a handler that throws");
        set_error_handler(function () use (&$bucket, &$missing, &$db) {
            $bucket = $missing = $db = null;
            return true;
        });
        check(str_contains(thrown(fn () => $bucket->consume()), 'StorageException'), "$driver: a handler that drops all");
        set_error_handler(null);
    },
    'the garbage collector finds cycles through the connection and the bucket' => function (string $driver, MariaDbServer|SqliteFile $server): void {
        // Tests a cycle through the connection. The connection has prepared no statement yet,
        // because PDO does not report the references of statements to the garbage collector.
        $connection = $server->connect([], LoudPDO::class);
        $held = new TokenBucketStoragePDO($connection, 'limits');
        $connection->prepared = [$held];
        $weak = WeakReference::create($held);
        unset($held, $connection);
        gc_collect_cycles();
        check($weak->get() === null, "$driver: a cycle");
        // Tests a cycle through a bucket, which keeps values derived from the storage.
        $held = new Plain($server->connect(), 'limits');
        $held->note = new TokenBucket($held, 'b', 2, 0.001);
        thrown(fn () => $held->note->consume(3));
        $weak = WeakReference::create($held);
        unset($held);
        gc_collect_cycles();
        check($weak->get() === null, "$driver: a cycle through a bucket");
    },
];
$servers = ['mysql' => MariaDbServer::start(), 'sqlite' => SqliteFile::start()];
alike(array_keys($servers), function (string $driver) use ($servers, $tests): void {
    (new TokenBucketStoragePDO($servers[$driver]->connect(), 'limits'))->prepare();
    foreach ($tests as $what => $test) {
        echo "-- $what --\n";
        $test($driver, $servers[$driver]);
    }
});

// Each database in memory is separate, so its storage uses no cached denials of another database.
$answers = [];
for ($i = 0; $i < 3; $i++) {
    $storage = new TokenBucketStoragePDO(new PDO('sqlite::memory:'), 'limits');
    $storage->prepare();
    $bucket = new TokenBucket($storage, 'b', 1, 0.001);
    $answers[] = [$bucket->consume(), $bucket->consume()];
}
check($answers === array_fill(0, 3, [true, false]), json_encode($answers));
?>
--EXPECT--
-- a PDO object that connects late --
-- classes may extend the storages --
consume b (3 times)
-- a storage prepares each statement once --
-- a storage detects statements that run after its own, and rethrows their exceptions --
-- an error handler may call the bucket again, throw, or release the storage --
-- the garbage collector finds cycles through the connection and the bucket --
