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
alike(['memcached', 'redis'], function (string $kind) use ($make) {
    foreach (OnFailure::cases() as $policy) {
        $throttle = new ClientThrottle($make($kind, $policy));
        for ($i = 0; $i < 2; $i++) {
            echo "$kind, $policy->name: ", preg_replace('/(StorageException:|^Exception:) (false|true)?.*/', '$1 $2', thrown(function () use ($throttle) {
                throw new Exception(var_export($throttle->check('some client', 1), true));
            })), "\n";
        }
    }
});
// A call throws the exception that the error handler throws.
set_error_handler(fn ($kind, $message) => throw new ErrorException($message));
echo thrown(fn () => (new ClientThrottle($make('memcached', OnFailure::Allow)))->check('a', 1)), "\n";
?>
--EXPECT--
…, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
…, Local: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
…, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
…, Allow: E_USER_WARNING: Unable to obtain lock ob throttle_some client
Exception: false
…, Deny: Exception: true
…, Deny: Exception: true
…, Throw: TokenBucket\StorageException: 
…, Throw: TokenBucket\StorageException: 
ErrorException: Unable to obtain lock ob throttle_a
