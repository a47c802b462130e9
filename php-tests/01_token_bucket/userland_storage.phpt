--TEST--
A bucket calls a userland storage in the same way as the userland class
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

/** A userland storage that lists its calls. */
class Recorder implements TokenBucketStorage
{
    public $calls = [];
    public $answer = true;
    public $callTheClosure = false;

    public function prepare()
    {
        $this->calls[] = ['prepare', func_get_args()];
    }

    public function bootstrap($identifier, $microtime)
    {
        $this->calls[] = ['bootstrap', func_get_args()];
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $this->calls[] = ['consume', func_get_args()];
        return $this->callTheClosure ? $bootstrap_closure() : $this->answer;
    }
}

class TypedRecorder extends Recorder
{
    public function prepare(): void
    {
        parent::prepare();
    }

    public function bootstrap(mixed $identifier, mixed $microtime, ?string $more = null): void
    {
        parent::bootstrap($identifier, $microtime);
    }

    public function consume(mixed $identifier, mixed $microtime, mixed $full_microtime, mixed $bootstrap_closure): bool
    {
        return parent::consume($identifier, $microtime, $full_microtime, $bootstrap_closure);
    }
}

echo "-- A userland storage gets the arguments that the userland class passes --\n";
alike(['Recorder', 'TypedRecorder'], function (string $class) {
    $storage = new $class;
    $bucket = new TokenBucket($storage, "who\0?", 10, 2.5);
    print_values($bucket->consume(4));
    [$method, $arguments] = $storage->calls[0];
    $closure = array_pop($arguments);
    print_values(count($storage->calls), $method, $arguments === ["who\0?", 1.6, 4.0], get_class($closure));

    echo "the closure calls bootstrap() and returns true\n";
    $before = microtime(true);
    print_values($closure());
    $after = microtime(true);
    [$method, [$identifier, $microtime]] = $storage->calls[1];
    // Six tokens are left. At 2.5 tokens a second, the cost of six tokens is 2.4 seconds.
    print_values($method, $identifier === "who\0?", is_float($microtime));
    print_values($microtime >= $before - 2.4001 && $microtime <= $after - 2.3999);
});

echo "-- A call is granted if the userland storage returns a truthy value --\n";
$storage = new Recorder;
$bucket = new TokenBucket($storage, 'x', 10, 1);
foreach ([true, 1, 'yes', [0], new stdClass, 0.1, false, 0, null, '', '0', [], 0.0] as $storage->answer) {
    echo json_encode($storage->answer), ': ', json_encode($bucket->consume()), "\n";
}

echo "-- A userland storage is called once for each decision, and never for more than the capacity --\n";
alike(['Recorder', 'TypedRecorder'], function (string $class) {
    $storage = new $class;
    $bucket = new TokenBucket($storage, "who\0?", 10, 2.5);
    echo "the storage calls the closure within consume()\n";
    $storage->callTheClosure = true;
    $storage->calls = [];
    print_values($bucket->consume(), array_column($storage->calls, 0));

    echo "more than the capacity: the storage is not called\n";
    $storage->calls = [];
    print_values($bucket->consume(11), $bucket->consume(10.5), $storage->calls);

    echo "the bucket never calls prepare()\n";
    print_values(in_array('prepare', array_column($storage->calls, 0)));
});
?>
--EXPECT--
-- A userland storage gets the arguments that the userland class passes --
true
1 'consume' true 'Closure'
the closure calls bootstrap() and returns true
true
'bootstrap' true true
true
-- A call is granted if the userland storage returns a truthy value --
true: true
1: true
"yes": true
[0]: true
{}: true
0.1: true
false: false
0: false
null: false
"": false
"0": false
[]: false
0: false
-- A userland storage is called once for each decision, and never for more than the capacity --
the storage calls the closure within consume()
true ['consume', 'bootstrap']
more than the capacity: the storage is not called
false false []
the bucket never calls prepare()
false
