--TEST--
Userland code may extend, throw and catch the exception classes
--FILE--
<?php
$interface = new ReflectionClass('TokenBucket\Exception');
var_dump($interface->isInterface(), $interface->implementsInterface('Throwable'));
$e = new TokenBucket\StorageException('down', 5, new LogicException('why'));
var_dump($e instanceof RuntimeException, $e instanceof TokenBucket\Exception);
var_dump($e->getMessage(), $e->getCode(), $e->getPrevious()->getMessage(), $e->getLine(), basename($e->getFile()));

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
        var_dump(get_class($caught), $caught->getMessage(), $caught === $e);
    }
}
?>
--EXPECT--
bool(true)
bool(true)
bool(true)
bool(true)
string(4) "down"
int(5)
string(3) "why"
int(4)
string(14) "exceptions.php"
string(4) "Mine"
string(4) "mine"
bool(true)
string(5) "Other"
string(5) "other"
bool(true)
