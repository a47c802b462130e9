--TEST--
The stub file declares what the extension declares
--FILE--
<?php
require __DIR__ . '/stub.inc.php';
?>
--EXPECT--
TokenBucket
TokenBucketStorage
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
TokenBucket\Exception
TokenBucket\OnFailure
TokenBucket\Reservation
TokenBucket\StorageException
TokenBucket\metrics
TokenBucket\status
Equal.
