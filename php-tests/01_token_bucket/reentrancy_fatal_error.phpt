--TEST--
Buckets stay usable in shutdown functions after a fatal error inside their calls
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
if (is_slow()) {
    die('skip valgrind reports the memory that PHP itself leaks after a fatal error');
}
?>
--FILE--
<?php
require __DIR__ . '/reentrancy.inc.php';

/** A userland storage that runs code in consume(). */
class Running extends GrantingStorage
{
    public function __construct(private Closure $code)
    {
    }

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        return ($this->code)($bootstrap_closure);
    }
}

/** An object that must not be destructed after a fatal error. */
class Loud
{
    public function __destruct()
    {
        echo "destructed\n";
    }
}

function fatal()
{
    trigger_error('dead', E_USER_ERROR);
}

$memory = new TokenBucketStorageMemory;
$dying = fn () => new TokenBucket(new Running(fatal(...)), 'dying', 10, 1);
$ways = [
    'in a call' => fn () => $dying()->consume(),
    'in a call in a call' => function () use ($memory, $dying) {
        $memory->consume('outer', 1, 10, fn () => (new TokenBucket(new Running(fn () => $dying()->attempt()->allowed), 'x', 1, 1))->consume());
    },
    'in an array of buckets' => function () use ($memory) {
        $last = new class ($memory, 'last', 10, 1) extends TokenBucket {
            protected function _tokens_to_seconds($tokens)
            {
                fatal();
            }
        };
        TokenBucket::attemptAll([new TokenBucket($memory, 'first', 10, 1), $last]);
    },
    'in a fiber' => function () use ($dying) {
        (new Fiber(fn () => $dying()->consume()))->start();
    },
    'while a fiber is suspended in a call' => function () use ($dying) {
        $suspending = new TokenBucket(new Running(fn () => Fiber::suspend()), 'suspending', 10, 1);
        $GLOBALS['fiber'] = new Fiber(fn () => $suspending->consume());
        $GLOBALS['fiber']->start();
        $dying()->consume();
    },
    'with an object that only the call holds' => function () use ($memory) {
        $memory->consume('loud', 1, 10, (function () {
            fatal();
            return $this !== null;
        })->bindTo(new Loud));
    },
];
foreach ($ways as $way => $die) {
    if (($pid = pcntl_fork()) === 0) {
        register_shutdown_function(function () use ($memory, $dying, $way) {
            $bucket = new TokenBucket($memory, 'shutdown', 2, 1);
            echo "$way: ", json_encode([$bucket->consume(2), $bucket->consume()]), "\n";
        });
        ini_set('display_errors', 0);
        $die();
        exit("went on\n");
    }
    pcntl_waitpid($pid, $status);
    check(pcntl_wifexited($status) && pcntl_wexitstatus($status) === 255, "$way: it ended with status $status");
}
?>
--EXPECT--
in a call: [true,false]
in a call in a call: [true,false]
in an array of buckets: [true,false]
in a fiber: [true,false]
while a fiber is suspended in a call: [true,false]
with an object that only the call holds: [true,false]
