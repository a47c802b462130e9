--TEST--
attemptAll() keeps its exception while it gives tokens back
--EXTENSIONS--
pdo
pdo_sqlite
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/give_back.inc.php';

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
