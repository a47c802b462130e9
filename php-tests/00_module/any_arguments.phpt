--TEST--
Fuzz of all methods in weak and strict mode: each call returns or throws, without a crash
--INI--
tokenbucket.failure_report=warning
error_reporting=0
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/both_modes.php';
require __DIR__ . '/any_arguments.inc.php';

$rounds = getenv('USE_ZEND_ALLOC') === '0' ? 20 : 300;
foreach (calls_by_mode() as $mode => [, , $call]) {
    $any = new AnyArguments($call, seed: 7);
    $any->run($rounds);
    check($any->returned > $rounds && $any->thrown > $rounds, "$mode: $any->returned calls returned, $any->thrown threw");
    $classes[] = array_keys($any->classes);
}
check($classes[0] === $classes[1], 'classes in strict mode: ' . json_encode($classes[1]));
// Random arguments are rarely valid for the constructors of some classes. So some runs create no
// such object, and these classes are left out.
$rare = [TokenBucket\ConcurrencyLimit::class, TokenBucket\Lockout::class, TokenBucket\Quota::class];
echo implode("\n", array_diff($classes[0], $rare)), "\n";
?>
--EXPECT--
TokenBucket
TokenBucketStorageMemcached
TokenBucketStorageMemory
TokenBucketStoragePDO
TokenBucketStoragePDOMySQL
TokenBucketStorageRedis
TokenBucketStorageSharedMemory
TokenBucket\AccessDeniedException
TokenBucket\Compat\ClientThrottle
TokenBucket\Compat\LeakyBucket
TokenBucket\Compat\MinuteWindow
TokenBucket\Compat\RateExceededException
TokenBucket\Compat\RateLimiter
TokenBucket\Decision
TokenBucket\OnFailure
TokenBucket\Period
TokenBucket\StorageException
