--TEST--
RateLimiter allows initNum requests at once, and changed properties apply from the next call
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Compat\RateLimiter;

$burst = function (RateLimiter $limiter): int {
    for ($allowed = 0; $allowed < 1000 && $limiter->handler(); $allowed++) {
    }
    return $allowed;
};

$limiter = new RateLimiter('key');
print_values($limiter->redis, $limiter->cacheKey, $limiter->initNum, $limiter->expire);
$limiter->redis = $memory = new TokenBucketStorageMemory;
check($limiter->handler() === true, 'a bool');
check($burst($limiter) === 29 && $limiter->handler() === false, 'thirty at once');
$memory->advance(1.999999999);
check($burst($limiter) === 0, 'no token before its time');
$memory->advance(0.000000001);
check($burst($limiter) === 1, 'one each two seconds');
$memory->advance(3600);
check($burst($limiter) === 30, 'an idle hour is worth no more than a full bucket');

foreach ([[null, null], ['', ''], [false, false], [30, 60], ['30', '60'], [30.0, '6e1']] as [$num, $expire]) {
    $limiter = new RateLimiter('other', $num, $expire);
    $limiter->redis = new TokenBucketStorageMemory;
    check($burst($limiter) === 30, 'defaults: ' . json_encode([$num, $expire]));
}
$limiter = new RateLimiter('7', 2.5, 10);
$limiter->redis = new TokenBucketStorageMemory;
check($burst($limiter) === 2, 'half a token is not enough');
$limiter = new RateLimiter('none', 0);
check($burst($limiter) === 0, 'a limit of none');
$limiter->redis = new TokenBucketStorageMemory;
check($burst($limiter) === 0, 'a limit of none, elsewhere');

// A subclass may set the properties itself, and need not call the parent's constructor.
class Configured extends RateLimiter
{
    public $cacheKey = 'class';
    public $initNum = 3;
    public $redis;
    public function __construct() {}
}
$limiter = new Configured;
$limiter->redis = $memory = new TokenBucketStorageMemory;
check($burst($limiter) === 3, 'a class that calls no constructor');
$limiter->initNum = 5;
$memory->advance(60);
check($burst($limiter) === 5, 'a property that changed');
$limiter->cacheKey = 12;
check($burst($limiter) === 5, 'another key');
$limiter->cacheKey = new class {
    public function __toString(): string
    {
        return '12';
    }
};
check($burst($limiter) === 0, 'the same key');
$other = clone $limiter;
$other->cacheKey = 'other';
check($burst($other) === 5 && $limiter->cacheKey != 'other', 'a clone');
check((new RateLimiter)->cacheKey === null && (new RateLimiter('0', 1))->initNum === 30, 'an empty key');

// Without a storage, a limiter uses the same buckets as a new shared memory storage.
$limiter = new RateLimiter('shared', 4, 3600);
check($burst($limiter) === 4, 'shared memory');
$limiter = new RateLimiter('shared', 4, 3600);
$limiter->redis = new TokenBucketStorageSharedMemory;
check($burst($limiter) === 0, 'the same bucket');
$limiter->redis = new TokenBucketStorageSharedMemory('apart');
check($burst($limiter) === 4, 'another namespace');

// Internal classes can have an alias since PHP 8.3. On older versions, the test uses a subclass.
eval(PHP_VERSION_ID < 80300
    ? 'namespace app\components; class RateLimiter extends \TokenBucket\Compat\RateLimiter {}'
    : 'class_alias("TokenBucket\Compat\RateLimiter", "app\components\RateLimiter");');
print_values((new app\components\RateLimiter('alias', 1))->handler());
echo "done\n";
?>
--EXPECT--
null 'key' 30 60
true
done
