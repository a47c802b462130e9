--TEST--
Classes that extend PDO, its statements or the storage, handlers that come back, and what holds what
--EXTENSIONS--
mysqlnd
pdo
pdo_mysql
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../check.inc.php';
require __DIR__ . '/../sql_servers.inc.php';

/** Counts, and asks another bucket on the same storage behind every statement. */
class BusyStatement extends PDOStatement
{
    public static ?Closure $behind = null;
    public static int $executed = 0;

    protected function __construct()
    {
    }

    public function execute(?array $params = null): bool
    {
        self::$executed++;
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
/** Reaches its connection only when it is asked. */
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

foreach (['mysql' => MariaDbServer::start(), 'sqlite' => SqliteFile::start()] as $driver => $server) {
    $db = $server->connect([], LoudPDO::class);
    $storage = new TokenBucketStoragePDO($db, 'limits', hints: false);
    $storage->prepare();
    $db->prepared = [];
    $bucket = new TokenBucket($storage, 'b', 100, 0.001);
    for ($i = 0; $i < 10; $i++) {
        $bucket->consume();
        $bucket->peek();
    }
    check($db->prepared === ['INSERT', 'SELECT'], "$driver: prepared once: " . json_encode($db->prepared));

    // What runs behind a statement uses the same storage, and leaves another id behind.
    $db->setAttribute(PDO::ATTR_STATEMENT_CLASS, [BusyStatement::class]);
    $storage = new TokenBucketStoragePDO($db, 'limits', hints: false);
    $outer = new TokenBucket($storage, 'outer', 1, 0.001);
    $inner = new TokenBucket($storage, 'inner', 5, 0.001);
    $outer->consume();
    BusyStatement::$behind = function () use ($inner) {
        check($inner->consume(), 'inner');
    };
    // The inner call's id is not taken for the outer's; on SQLite each has rows of its own.
    $said = thrown(fn () => check(!$outer->consume(), 'outer is empty'));
    $expected = $driver === 'mysql' ? '/last insert id is not of this statement/' : '/^nothing thrown$/';
    check(preg_match($expected, $said) === 1, "$driver: $said");
    check($inner->peek()->remaining === 4.0 && !$outer->consume(), "$driver: after it");
    if ($driver === 'mysql') {
        $db->exec('CREATE TABLE log (id int AUTO_INCREMENT PRIMARY KEY)');
        BusyStatement::$behind = fn () => $db->exec('INSERT INTO log VALUES ()');
        check(str_contains(thrown(fn () => $inner->consume()), 'last insert id'), 'a log is no answer');
    }
    BusyStatement::$behind = fn () => throw new DomainException('not of PDO');
    check(thrown(fn () => $inner->consume()) === 'DomainException: not of PDO', "$driver: exceptions of others");
    check($inner->consume(), "$driver: then as before");

    // A handler of warnings that asks again, that throws, and that drops the storage.
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

    // A connection that is not told by the object itself.
    LazyPDO::$real = $server->connect();
    $lazy = new TokenBucketStoragePDO(new LazyPDO, 'limits');
    $bucket = new TokenBucket($lazy, 'lazy', 1, 0.001);
    check([$bucket->consume(), $bucket->consume(), $bucket->consume()] === [true, false, false], "$driver: lazy");
    check(TokenBucket::attemptAll([$bucket])->allowed === false, "$driver: lazy, all");

    // Classes that extend the storage.
    $prefixed = new Prefixed($server->connect(), 'limits');
    $bucket = new TokenBucket($prefixed, 'b', 2, 0.001);
    check([$bucket->consume(), $bucket->consume(), $bucket->consume()] === [true, true, false], "$driver: prefixed");
    check(str_contains(thrown(fn () => $bucket->peek()), 'LogicException'), "$driver: of userland");
    $plain = new Plain($server->connect(), 'limits');
    check((new TokenBucket($plain, 'my b', 2, 0.001))->peek()->remaining === 0.0, "$driver: a plain subclass is native");

    // Cycles through the connection are found.
    // One that has prepared nothing yet: PDO does not show the collector what its statements hold.
    $connection = $server->connect([], LoudPDO::class);
    $held = new TokenBucketStoragePDO($connection, 'limits');
    $connection->prepared = [$held];
    $weak = WeakReference::create($held);
    unset($held, $connection);
    gc_collect_cycles();
    check($weak->get() === null, "$driver: a cycle");
    // Through a bucket, which remembers what it derived from the storage.
    $held = new Plain($server->connect(), 'limits');
    $held->note = new TokenBucket($held, 'b', 2, 0.001);
    thrown(fn () => $held->note->consume(3));
    $weak = WeakReference::create($held);
    unset($held);
    gc_collect_cycles();
    check($weak->get() === null, "$driver: a cycle through a bucket");
}
// Databases in memory are each for themselves, whatever is remembered of others.
$answers = [];
for ($i = 0; $i < 3; $i++) {
    $storage = new TokenBucketStoragePDO(new PDO('sqlite::memory:'), 'limits');
    $storage->prepare();
    $bucket = new TokenBucket($storage, 'b', 1, 0.001);
    $answers[] = [$bucket->consume(), $bucket->consume()];
}
check($answers === array_fill(0, 3, [true, false]), json_encode($answers));
echo "done\n";
?>
--EXPECT--
consume b
consume b
consume b
consume b
consume b
consume b
done
