--TEST--
An outage causes a warning even if another call has already thrown an exception
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\OnFailure;

Warnings::collect();
foreach (Store::each() as $kind => $store) {
    check($store->is_back(), 'back before');
    $store->server->kill();
    // The first call throws. The second call must still warn, because some applications rely on the
    // log.
    check(str_contains(thrown(fn () => $store->bucket(OnFailure::Throw)->consume()), 'StorageException'), 'thrown');
    check($store->bucket(OnFailure::Local)->consume(), 'granted');
    echo count(Warnings::take()), " warning\n";
    check($store->bucket(OnFailure::Local)->consume(), 'granted');
    echo count(Warnings::take()), " more\n";
}
?>
--EXPECT--
1 warning
0 more
1 warning
0 more
