--TEST--
An application that declares its own class TokenBucket gets PHP's usual error
--SKIPIF--
<?php if (getenv('USE_ZEND_ALLOC') === '0') die('skip PHP itself leaks in a fatal error'); ?>
--FILE--
<?php
echo "not reached when early binding finds it\n";
if (true) {
    class TokenBucket
    {
    }
}
?>
--EXPECTF--
%AFatal error: Cannot %rdeclare class TokenBucket, because the name is already in use|redeclare class TokenBucket%r in %sclass_redeclared.php on line %d%A
