--TEST--
Userland code may extend, throw and catch the exception classes
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$interface = new ReflectionClass('TokenBucket\Exception');
print_values($interface->isInterface(), $interface->implementsInterface('Throwable'));
$e = new TokenBucket\StorageException('down', 5, new LogicException('why'));
print_values($e instanceof RuntimeException, $e instanceof TokenBucket\Exception);
print_values($e->getMessage(), $e->getCode(), $e->getPrevious()->getMessage(), $e->getLine(), basename($e->getFile()));

class Mine extends TokenBucket\StorageException
{
}
class Other extends Exception implements TokenBucket\Exception
{
}
function fail(Throwable $e)
{
    throw $e;
}
foreach ([new Mine('mine'), new Other('other')] as $e) {
    try {
        fail($e);
    } catch (TokenBucket\Exception $caught) {
        print_values(get_class($caught), $caught->getMessage(), $caught === $e);
    }
}
?>
--EXPECT--
true true
true true
'down' 5 'why' 6 'exceptions.php'
'Mine' 'mine' true
'Other' 'other' true
