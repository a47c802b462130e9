--TEST--
MinuteWindow follows onFailure when its server is down
--EXTENSIONS--
memcache
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/minute_window_servers.inc.php';

use TokenBucket\Compat\MinuteWindow;
use TokenBucket\OnFailure;

$server->kill();
$redis->kill();
foreach (['memcached', 'redis'] as $kind) {
    foreach (OnFailure::cases() as $policy) {
        $window = new MinuteWindow(@$make($kind, $policy), uniqid());
        $passed = 0;
        for ($i = 0; $i < 8; $i++) {
            try {
                $passed += (int) @allows($window, 5, 5);
            } catch (TokenBucket\StorageException) {
                $passed = 'thrown';
                break;
            }
        }
        echo "$kind $policy->name: $passed\n";
    }
}
?>
--EXPECT--
memcached Local: 5
memcached Allow: 8
memcached Deny: 0
memcached Throw: thrown
redis Local: 5
redis Allow: 8
redis Deny: 0
redis Throw: thrown
