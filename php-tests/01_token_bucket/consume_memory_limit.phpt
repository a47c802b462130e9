--TEST--
A bucket stays usable in shutdown functions after creating its exception has exceeded the memory limit
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
if (is_slow()) {
    die('skip valgrind reports the memory that PHP itself leaks after a fatal error');
}
?>
--FILE--
<?php
/** Calls $call below $frames stack frames, so that the trace of an exception is large. */
function deep(int $frames, Closure $call)
{
    $frames > 0 ? deep($frames - 1, $call) : $call();
}

class Renamed extends TokenBucket
{
    public function rename(string $identifier)
    {
        $this->_identifier = $identifier;
    }
}

$bucket = new Renamed(new TokenBucketStorageSharedMemory, 'x', 2, 0.001);
var_dump($bucket->consume());
register_shutdown_function(function () use ($bucket) {
    ini_set('memory_limit', -1);
    var_dump($bucket->consume(), $bucket->consume());
    $bucket->rename('y');
    var_dump($bucket->consume(2), $bucket->consume());
});
deep(50_000, function () use ($bucket) {
    // The trace needs about 30 MB, which exceeds this limit.
    ini_set('memory_limit', memory_get_usage(true) + (4 << 20));
    try {
        $bucket->consume(-1);
    } catch (ValueError) {
        echo "no memory limit\n";
    }
});
?>
--EXPECTF--
bool(true)

Fatal error: Allowed memory size of %d bytes exhausted%A
bool(true)
bool(false)
bool(true)
bool(false)
