--TEST--
A userland storage gets the arguments that the userland class passes
--FILE--
<?php
require __DIR__ . '/userland_storage.inc.php';

alike(['Recorder', 'TypedRecorder'], function (string $class) {
    $storage = new $class;
    $bucket = new TokenBucket($storage, "who\0?", 10, 2.5);
    dump($bucket->consume(4));
    [$method, $arguments] = $storage->calls[0];
    $closure = array_pop($arguments);
    dump(count($storage->calls), $method, $arguments === ["who\0?", 1.6, 4.0], get_class($closure));

    echo "the closure calls bootstrap() and returns true\n";
    $before = microtime(true);
    dump($closure());
    $after = microtime(true);
    [$method, [$identifier, $microtime]] = $storage->calls[1];
    // Six tokens are left. At 2.5 tokens a second, the cost of six tokens is 2.4 seconds.
    dump($method, $identifier === "who\0?", is_float($microtime));
    dump($microtime >= $before - 2.4001 && $microtime <= $after - 2.3999);
});
?>
--EXPECT--
true
1 'consume' true 'Closure'
the closure calls bootstrap() and returns true
true
'bootstrap' true true
true
