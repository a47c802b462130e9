--TEST--
attemptAll() keeps its exception, and exit() ends the script, while it gives tokens back
--EXTENSIONS--
pdo
pdo_sqlite
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

/** A statement that runs code before it charges a bucket, or before it gives tokens back. */
final class CodeStatement extends PDOStatement
{
    public static ?Closure $charge = null;
    public static ?Closure $giveBack = null;

    protected function __construct(private string $role)
    {
    }

    public function execute(?array $params = null): bool
    {
        if ($this->role === 'other' && self::$charge !== null && str_starts_with($this->queryString, 'INSERT')) {
            (self::$charge)();
        }
        if ($this->role === 'first' && self::$giveBack !== null && str_starts_with($this->queryString, 'UPDATE')) {
            (self::$giveBack)();
        }
        return parent::execute($params);
    }
}

/** Returns a storage on a new database, whose statements run the code for this role. */
function storage(string $role, TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Throw): TokenBucketStoragePDO
{
    $db = new PDO('sqlite::memory:', options: [PDO::ATTR_STATEMENT_CLASS => [CodeStatement::class, [$role]]]);
    $storage = new TokenBucketStoragePDO($db, 'limits', $onFailure);
    $storage->prepare();
    return $storage;
}

/** Runs a batch on $first and another bucket. $charge runs before the other one is charged. */
function batch(TokenBucket $first, Closure $charge, ?Closure $giveBack): void
{
    CodeStatement::$charge = $charge;
    CodeStatement::$giveBack = $giveBack;
    try {
        TokenBucket::attemptAll([$first, new TokenBucket(storage('other'), 'other', 10, 1e-6)], 4);
    } finally {
        CodeStatement::$charge = CodeStatement::$giveBack = null;
    }
}

spl_autoload_register(function (string $class) {
    echo "autoload $class\n";
});
$bucket = fn (TokenBucketStoragePDO $storage) => new TokenBucket($storage, 'first', 10, 1e-6);
$fail = fn () => throw new LogicException('the charge failed');

echo "-- the code that gives back looks up a class --\n";
$first = $bucket(storage('first'));
echo thrown(fn () => batch($first, $fail, fn () => class_exists('Missing'))), "\n";
var_dump($first->peek()->remaining >= 9);

echo "-- it catches an exception --\n";
$first = $bucket(storage('first'));
echo thrown(fn () => batch($first, $fail, function () {
    thrown(fn () => throw new RuntimeException('caught'));
})), "\n";
var_dump($first->peek()->remaining >= 9);

echo "-- it throws --\n";
try {
    batch($bucket(storage('first')), $fail, fn () => throw new DomainException('the refund failed'));
} catch (DomainException $e) {
    echo $e->getMessage(), ', after: ', $e->getPrevious()->getMessage(), "\n";
}

echo "-- the database fails, and the policy throws --\n";
try {
    batch($bucket(storage('first')), $fail, fn () => throw new PDOException('no'));
} catch (TokenBucket\StorageException $e) {
    for (; $e !== null; $e = $e->getPrevious()) {
        echo get_class($e), ': ', $e->getMessage(), "\n";
    }
}

echo "-- the database fails, and the policy allows --\n";
$first = $bucket(storage('first', TokenBucket\OnFailure::Allow));
echo thrown(fn () => @batch($first, $fail, fn () => throw new PDOException('no'))), "\n";

echo "-- it suspends the fiber --\n";
$first = $bucket(storage('first'));
$fiber = new Fiber(fn () => thrown(fn () => batch($first, $fail, fn () => Fiber::suspend('suspended'))));
echo $fiber->start(), "\n";
class_exists('Other');
echo thrown(fn () => throw new RuntimeException('of the main program')), "\n";
$fiber->resume();
echo $fiber->getReturn(), "\n";
var_dump($first->peek()->remaining >= 9);

echo "-- exit --\n";
$ways = [
    'exit' => [fn () => exit("exit\n"), null],
    'exit, then an exception' => [fn () => exit("exit\n"), fn () => throw new DomainException('the refund failed')],
    'exit, then the database fails' => [fn () => exit("exit\n"), fn () => throw new PDOException('no')],
    'an exception, then exit' => [fn () => throw new LogicException('the charge failed'), fn () => exit("exit\n")],
];
foreach ($ways as $way => [$charge, $giveBack]) {
    if (($pid = pcntl_fork()) === 0) {
        echo "- $way\n";
        $first = new TokenBucket(storage('first'), 'first', 10, 1e-6);
        register_shutdown_function(fn () => print("ended\n"));
        try {
            batch($first, $charge, $giveBack);
        } catch (Throwable $e) {
            echo 'caught ', get_class($e), "\n";
        }
        echo "went on\n";
        exit;
    }
    pcntl_waitpid($pid, $status);
}
?>
--EXPECTF--
-- the code that gives back looks up a class --
autoload Missing
LogicException: the charge failed
bool(true)
-- it catches an exception --
LogicException: the charge failed
bool(true)
-- it throws --
the refund failed, after: the charge failed
-- the database fails, and the policy throws --
TokenBucket\StorageException: %s
PDOException: no
LogicException: the charge failed
-- the database fails, and the policy allows --
LogicException: the charge failed
-- it suspends the fiber --
suspended
autoload Other
RuntimeException: of the main program
LogicException: the charge failed
bool(true)
-- exit --
- exit
exit
ended
- exit, then an exception
exit
ended
- exit, then the database fails
exit
ended
- an exception, then exit
exit
ended
