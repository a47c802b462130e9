--TEST--
An error handler may release the bucket and the storage during the call
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage_handlers.inc.php';

foreach ([...METHODS, ...METHODS] as $method) {
    $held = [new Changing(Down::storage(), str_repeat('x', 30), 5, 0.001)];
    $weak = WeakReference::create($held[0]);
    set_error_handler(function () use (&$held): bool {
        $held = [];
        gc_collect_cycles();
        scribble();
        return true;
    });
    // Calls through the array element, so that no variable holds the bucket.
    $method === 'wait' ? $held[0]->wait(1) : $held[0]->$method();
    check($weak->get() === null && $held === [], "$method: is gone");
}
foreach (['consume', 'bootstrap'] as $method) {
    $held = [Down::storage()];
    $weak = WeakReference::create($held[0]);
    $method === 'consume'
        ? $held[0]->consume(str_repeat('x', random_int(20, 20)), 1, 5, fn () => true)
        : $held[0]->bootstrap(str_repeat('x', random_int(20, 20)), microtime(true));
    check($weak->get() === null, "$method of the storage: is gone");
}
for ($i = 0; $i < 2; $i++) {
    $held = [$storage = Down::storage()];
    $buckets = [new TokenBucket($storage, str_repeat('a', 30), 5, 0.001), new TokenBucket($storage, str_repeat('b', 30), 5, 0.001)];
    $weak = WeakReference::create($buckets[1]);
    unset($storage);
    set_error_handler(function () use (&$held, &$buckets): bool {
        $held = $buckets = [];
        scribble();
        return true;
    });
    dump(TokenBucket::attemptAll($buckets)->allowed, $weak->get());
}
?>
--EXPECT--
true null
true null
