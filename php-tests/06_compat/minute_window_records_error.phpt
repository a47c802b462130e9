--TEST--
MinuteWindow leaves foreign records unchanged and follows onFailure
--EXTENSIONS--
memcache
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/minute_window_servers.inc.php';

use TokenBucket\Compat\MinuteWindow;
use TokenBucket\OnFailure;

foreach (['memcached', 'redis'] as $kind) {
    foreach ([0, 1] as $ago) {
        foreach (OnFailure::cases() as $policy) {
            $ip = uniqid();
            $key = "rate$ip" . date('dHi', time() - 60 * $ago);
            memcache($server->port)->set($key, 'foreign', 0, 100);
            $redis->command('SET', "tokenbucket:$key", 'foreign');
            $window = new MinuteWindow($make($kind, $policy), $ip);
            $answers = [];
            for ($i = 0; $i < 3; $i++) {
                $answers[] = thrown(function () use ($window) {
                    $window->limitRequestsInMinutes(2, 5);
                });
            }
            echo "$kind $ago $policy->name: ", preg_replace('/at \S+|unix:\S+/', '…', implode(' | ', array_unique($answers))), "\n";
            check(memcache($server->port)->get($key) === 'foreign', 'the record stays');
            check($redis->command('GET', "tokenbucket:$key") === 'foreign', 'the record stays');
        }
    }
}
?>
--EXPECT--
TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): memcached … the key does not hold a record of this limiter; using shared memory of this host
memcached 0 Local: nothing thrown | TokenBucket\Compat\RateExceededException: 
memcached 0 Allow: nothing thrown
memcached 0 Deny: TokenBucket\Compat\RateExceededException: 
memcached 0 Throw: TokenBucket\StorageException: memcached … the key does not hold a record of this limiter
memcached 1 Local: nothing thrown | TokenBucket\Compat\RateExceededException: 
memcached 1 Allow: nothing thrown
memcached 1 Deny: TokenBucket\Compat\RateExceededException: 
memcached 1 Throw: TokenBucket\StorageException: memcached … the key does not hold a record of this limiter
TokenBucket\Compat\MinuteWindow::limitRequestsInMinutes(): … the key does not hold a record of this limiter; using shared memory of this host
redis 0 Local: nothing thrown | TokenBucket\Compat\RateExceededException: 
redis 0 Allow: nothing thrown
redis 0 Deny: TokenBucket\Compat\RateExceededException: 
redis 0 Throw: TokenBucket\StorageException: … the key does not hold a record of this limiter
redis 1 Local: nothing thrown | TokenBucket\Compat\RateExceededException: 
redis 1 Allow: nothing thrown
redis 1 Deny: TokenBucket\Compat\RateExceededException: 
redis 1 Throw: TokenBucket\StorageException: … the key does not hold a record of this limiter
