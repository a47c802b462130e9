--TEST--
ClientThrottle leaves foreign records unchanged and follows onFailure
--EXTENSIONS--
memcache
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/client_throttle_servers.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\OnFailure;

class Spy
{
    public function __wakeup()
    {
        echo "unserialised\n";
    }
}
$foreign = [
    'text' => fn ($key) => $memcache->set($key, 'foreign'),
    'object' => fn ($key) => $memcache->set($key, new Spy),
    'other array' => fn ($key) => $memcache->set($key, ['tokens' => 1000, 'filled' => 1.0, 'more' => 1]),
    'compressed' => fn ($key) => $server->command("set $key 3 0 4\r\nzlib", 'STORED'),
];
foreach ($foreign as $what => $put) {
    foreach (OnFailure::cases() as $policy) {
        $id = uniqid();
        $put("throttle_$id");
        $before = $server->command("mg throttle_$id v f t\r\nmn", 'MN');
        $throttle = new ClientThrottle($make('memcached', $policy));
        $answers = [];
        for ($i = 0; $i < 3; $i++) {
            $answers[] = thrown(function () use ($throttle, $id) {
                throw new Exception(var_export(@$throttle->check($id, 2), true));
            });
        }
        $answers = preg_replace('/^Exception: |at \S+/', '', $answers);
        echo "$what, $policy->name: ", implode(' ', array_unique(array_slice($answers, 0, 2))), ' ', $answers[2], "\n";
        check($server->command("mg throttle_$id v f t\r\nmn", 'MN') === $before, 'the record stays');
        check($memcache->get("throttle_{$id}_lock") === false, 'no lock is left');
    }
}
?>
--EXPECT--
E_WARNING: TokenBucket\Compat\ClientThrottle::check(): memcached … the key does not hold a record of this limiter; using shared memory of this host
text, Local: false true
text, Allow: false false
text, Deny: true true
text, Throw: TokenBucket\StorageException: memcached  the key does not hold a record of this limiter TokenBucket\StorageException: memcached  the key does not hold a record of this limiter
object, Local: false true
object, Allow: false false
object, Deny: true true
object, Throw: TokenBucket\StorageException: memcached  the key does not hold a record of this limiter TokenBucket\StorageException: memcached  the key does not hold a record of this limiter
other array, Local: false true
other array, Allow: false false
other array, Deny: true true
other array, Throw: TokenBucket\StorageException: memcached  the key does not hold a record of this limiter TokenBucket\StorageException: memcached  the key does not hold a record of this limiter
compressed, Local: false true
compressed, Allow: false false
compressed, Deny: true true
compressed, Throw: TokenBucket\StorageException: memcached  the key does not hold a record of this limiter TokenBucket\StorageException: memcached  the key does not hold a record of this limiter
