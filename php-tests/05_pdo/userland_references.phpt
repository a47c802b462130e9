--TEST--
Classes that extend PDO may return references, and rows that contain references
--EXTENSIONS--
pdo
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

final class ReferenceStatement extends PDOStatement
{
    private mixed $row;
    private array $info;

    protected function __construct()
    {
    }

    public function &fetch(int $mode = PDO::FETCH_DEFAULT, int $orientation = PDO::FETCH_ORI_NEXT, int $offset = 0): mixed
    {
        $this->row = parent::fetch($mode, $orientation, $offset);
        if (is_array($this->row)) {
            foreach ($this->row as &$cell) {
                $cells[] = &$cell;
            }
        }
        return $this->row;
    }

    public function &errorInfo(): array
    {
        $this->info = parent::errorInfo();
        foreach ($this->info as &$cell) {
            $cells[] = &$cell;
        }
        return $this->info;
    }
}

final class ReferencePDO extends PDO
{
    private array $kept = [];

    public function &getAttribute(int $attribute): mixed
    {
        $this->kept[] = parent::getAttribute($attribute);
        return $this->kept[array_key_last($this->kept)];
    }

    public function &prepare(string $query, array $options = []): PDOStatement|false
    {
        $this->kept[] = parent::prepare($query, $options);
        return $this->kept[array_key_last($this->kept)];
    }

    public function forget(): void
    {
        $this->kept = [];
    }
}

$db = new ReferencePDO('sqlite::memory:', options: [PDO::ATTR_STATEMENT_CLASS => [ReferenceStatement::class]]);
$storage = new TokenBucketStoragePDO($db, 'limits');
$storage->prepare();
$bucket = new TokenBucket($storage, 'x', 3, 1e-6);
print_values($bucket->consume(2), $bucket->attempt(2)->allowed, $bucket->peek()->remaining);
$bucket->refund(1);
print_values($bucket->peek()->remaining, $storage->purge(1e-3));
$db->exec('PRAGMA query_only = ON');
echo thrown(fn () => $bucket->consume()), "\n";
// The connection and its statements form a cycle that PHP's collector does not find, so forget()
// breaks the cycle.
$db->forget();
?>
--EXPECT--
true false 1.0
2.0 1
TokenBucket\StorageException: sqlite table limits: the statement failed: SQLSTATE[HY000] 8: attempt to write a readonly database
