<?php
/** Defines classes that extend PDO, its statements or the storage, and starts servers for tests. */
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

/** A statement that counts executions. After the next execution, $behind runs once. */
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


/** Calls $test with the name of each driver and a server that has the table. */
function on_each_server(Closure $test): void
{
    foreach (['mysql' => MariaDbServer::start(), 'sqlite' => SqliteFile::start()] as $driver => $server) {
        (new TokenBucketStoragePDO($server->connect(), 'limits'))->prepare();
        $test($driver, $server);
    }
}
