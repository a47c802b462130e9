--TEST--
ClientThrottle warns and follows onFailure when its server is down
--EXTENSIONS--
memcache
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/client_throttle_servers.inc.php';

use TokenBucket\Compat\ClientThrottle;
use TokenBucket\OnFailure;

$server->kill();
$redis->kill();
foreach (['memcached', 'redis'] as $kind) {
    foreach (OnFailure::cases() as $policy) {
        $throttle = new ClientThrottle($make($kind, $policy));
        for ($i = 0; $i < 2; $i++) {
            echo "$kind, $policy->name: ", preg_replace('/(StorageException:|^Exception:) (false|true)?.*/', '$1 $2', thrown(function () use ($throttle) {
                throw new Exception(var_export($throttle->check('some client', 1), true));
            })), "\n";
        }
    }
}
// A call throws the exception that the error handler throws.
set_error_handler(fn ($kind, $message) => throw new ErrorException($message));
echo thrown(fn () => (new ClientThrottle($make('memcached', OnFailure::Allow)))->check('a', 1)), "\n";
?>
--EXPECT--
memcached, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
memcached, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
memcached, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
memcached, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
memcached, Deny: Exception: true
memcached, Deny: Exception: true
memcached, Throw: TokenBucket\StorageException: 
memcached, Throw: TokenBucket\StorageException: 
redis, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
redis, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
redis, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
redis, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
redis, Deny: Exception: true
redis, Deny: Exception: true
redis, Throw: TokenBucket\StorageException: 
redis, Throw: TokenBucket\StorageException: 
ErrorException: Unable to obtain lock ob throttle_a
