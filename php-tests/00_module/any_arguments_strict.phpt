--TEST--
Fuzz of all methods in strict mode: each call returns or throws, without a crash
--INI--
tokenbucket.failure_report=warning
error_reporting=0
--FILE--
<?php
declare(strict_types=1);
require __DIR__ . '/any_arguments.inc.php';

$rounds = getenv('USE_ZEND_ALLOC') === '0' ? 20 : 300;
$any = new AnyArguments(fn(callable $callable, array $arguments) => $callable(...$arguments), seed: 7);
$any->run($rounds);
var_dump($any->returned > $rounds, $any->thrown > $rounds);
echo implode("\n", array_keys($any->classes)), "\n";
?>
--EXPECT--
bool(true)
bool(true)
TokenBucket
TokenBucketStorageMemcached
TokenBucketStorageMemory
TokenBucketStoragePDO
TokenBucketStoragePDOMySQL
TokenBucketStorageRedis
TokenBucketStorageSharedMemory
TokenBucket\Compat\ClientThrottle
TokenBucket\Compat\LeakyBucket
TokenBucket\Compat\MinuteWindow
TokenBucket\Compat\RateExceededException
TokenBucket\Compat\RateLimiter
TokenBucket\Decision
TokenBucket\OnFailure
TokenBucket\StorageException
