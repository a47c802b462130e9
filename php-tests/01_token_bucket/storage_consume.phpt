--TEST--
consume() of a native storage calls the closure only if the bucket has no record
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

alike(['TokenBucketStorageMemory', 'TokenBucketStorageSharedMemory'], function (string $class) {
    $storage = new $class;
    $left = fn($id) => (new TokenBucket($storage, $id, 10, 0.001))->peek()->remaining;
    // The cost of a token is a thousand seconds.
    $consume = fn($id, $tokens, $closure) => $storage->consume($id, $tokens * 1000.0, 10000.0, $closure);
    $calls = 0;
    $true = function () use (&$calls) {
        $calls++;
        return true;
    };

    print_values($storage->prepare());
    echo "a missing bucket: calls the closure and charges the tokens\n";
    print_values($consume('x', 3, $true), $calls, $left('x'));
    echo "an existing bucket: does not call the closure\n";
    print_values($consume('x', 3, $true), $consume('x', 5, $true), $calls, $left('x'));

    echo "a falsy result: denies and writes nothing\n";
    foreach ([false, 0, null, '', '0', []] as $falsy) {
        check($consume('falsy', 1, fn() => $falsy) === false, json_encode($falsy));
        check($left('falsy') === 10.0, 'nothing written');
    }
    check($consume('falsy', 1, function () {
    }) === false, 'no return value');
    foreach ([true, 1, 'yes', [0], new stdClass] as $i => $truthy) {
        check($consume("truthy $i", 1, fn() => $truthy) === true, json_encode($truthy));
    }
    echo "a falsy result after a proposal: denies and writes nothing\n";
    print_values($consume('falsy', 1, function () use ($storage) {
        $storage->bootstrap('falsy', microtime(true) - 2000);
        return false;
    }), $left('falsy'));

    echo "an exception reaches the caller and writes nothing\n";
    echo thrown(fn() => $consume('throws', 1, function () use ($storage) {
        $storage->bootstrap('throws', microtime(true) - 2000);
        throw new DomainException('no');
    })), "\n";
    print_values($left('throws'));

    echo "bootstrap() inside the closure proposes the first state\n";
    print_values($consume('half', 1, function () use ($storage) {
        $storage->bootstrap('half', microtime(true) - 4500);
        return true;
    }), $left('half'));

    echo "bootstrap() of another identifier creates that bucket, and the called bucket starts full\n";
    print_values($consume('this', 1, function () use ($storage) {
        $storage->bootstrap('that', microtime(true) - 4500);
        return true;
    }), $left('this'), $left('that'));

    echo "any callable\n";
    print_values($consume('callable', 1, 'phpversion'), $left('callable'));
    class_exists('Invokable') || eval('class Invokable { public function __invoke() { return true; } public static function yes() { return true; } }');
    print_values($consume('callable 2', 1, new Invokable), $consume('callable 3', 1, ['Invokable', 'yes']), $consume('callable 4', 1, 'Invokable::yes'));
});
?>
--EXPECT--
null
a missing bucket: calls the closure and charges the tokens
true 1 7.0
an existing bucket: does not call the closure
true false 1 4.0
a falsy result: denies and writes nothing
a falsy result after a proposal: denies and writes nothing
false 10.0
an exception reaches the caller and writes nothing
DomainException: no
10.0
bootstrap() inside the closure proposes the first state
true 4.0
bootstrap() of another identifier creates that bucket, and the called bucket starts full
true 9.0 4.0
any callable
true 9.0
true true true
