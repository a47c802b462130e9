--TEST--
A userland storage is called as the userland class calls it
--FILE--
<?php
require __DIR__ . '/../check.inc.php';

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
foreach (['Recorder', 'TypedRecorder'] as $class) {
    echo "-- $class --\n";
    $storage = new $class;
    $bucket = new TokenBucket($storage, "who\0?", 10, 2.5);
    var_dump($bucket->consume(4));
    [$method, $arguments] = $storage->calls[0];
    $closure = array_pop($arguments);
    var_dump(count($storage->calls), $method, $arguments === ["who\0?", 1.6, 4.0], get_class($closure));

    echo "the closure bootstraps and returns true\n";
    $before = microtime(true);
    var_dump($closure());
    $after = microtime(true);
    [$method, [$identifier, $microtime]] = $storage->calls[1];
    // Six tokens are left, that is 2.4 seconds.
    var_dump($method, $identifier === "who\0?", is_float($microtime));
    var_dump($microtime >= $before - 2.4001 && $microtime <= $after - 2.3999);

    echo "called within consume()\n";
    $storage->callTheClosure = true;
    $storage->calls = [];
    var_dump($bucket->consume(), array_column($storage->calls, 0));

    echo "more than the capacity: not called at all\n";
    $storage->calls = [];
    var_dump($bucket->consume(11), $bucket->consume(10.5), $storage->calls);

    echo "prepare() is never called by the bucket\n";
    var_dump(in_array('prepare', array_column($storage->calls, 0)));
}

echo "-- what it answers --\n";
$storage = new Recorder;
$bucket = new TokenBucket($storage, 'x', 10, 1);
foreach ([true, 1, 'yes', [0], new stdClass, 0.1, false, 0, null, '', '0', [], 0.0] as $storage->answer) {
    echo json_encode($storage->answer), ': ', json_encode($bucket->consume()), "\n";
}
?>
--EXPECT--
-- Recorder --
bool(true)
int(1)
string(7) "consume"
bool(true)
string(7) "Closure"
the closure bootstraps and returns true
bool(true)
string(9) "bootstrap"
bool(true)
bool(true)
bool(true)
called within consume()
bool(true)
array(2) {
  [0]=>
  string(7) "consume"
  [1]=>
  string(9) "bootstrap"
}
more than the capacity: not called at all
bool(false)
bool(false)
array(0) {
}
prepare() is never called by the bucket
bool(false)
-- TypedRecorder --
bool(true)
int(1)
string(7) "consume"
bool(true)
string(7) "Closure"
the closure bootstraps and returns true
bool(true)
string(9) "bootstrap"
bool(true)
bool(true)
bool(true)
called within consume()
bool(true)
array(2) {
  [0]=>
  string(7) "consume"
  [1]=>
  string(9) "bootstrap"
}
more than the capacity: not called at all
bool(false)
bool(false)
array(0) {
}
prepare() is never called by the bucket
bool(false)
-- what it answers --
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
