--TEST--
Under php-fpm: requests that end in a fatal error inside a call leak no memory
--EXTENSIONS--
pdo
pdo_sqlite
--SKIPIF--
<?php
require __DIR__ . '/skipif.inc.php';
if (PHP_DEBUG) {
    die('skip a debug build with AddressSanitizer keeps freed memory for a while');
}
?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/fpm.php';

$fpm = new Fpm(
    ['www' => ['pm.max_children' => 1, 'process.dumpable' => 'yes']],
    ini: ['tokenbucket.failure_report' => 'warning'],
);
$script = $fpm->script('die', <<<'PHP'
    <?php
    /** Ends the request with a fatal error. */
    function fatal()
    {
        trigger_error('dead', E_USER_ERROR);
    }

    class DyingObject
    {
        public function __destruct()
        {
            fatal();
        }
    }

    /** A bucket that asks the function $seconds for the time of its tokens. */
    class OwnPrice extends TokenBucket
    {
        public Closure $seconds;

        protected function _tokens_to_seconds($tokens)
        {
            return ($this->seconds)();
        }

        public static function of(TokenBucketStorage $storage, Closure $seconds): self
        {
            $bucket = new self($storage, 'last', 10, 1);
            $bucket->seconds = $seconds;
            return $bucket;
        }

        public function named($name): self
        {
            $this->_identifier = $name;
            return $this;
        }
    }

    class DyingBucket extends TokenBucket
    {
        public function __destruct()
        {
            fatal();
        }
    }

    class DyingStatement extends PDOStatement
    {
        public function execute(?array $params = null): bool
        {
            fatal();
        }
    }

    class DyingName
    {
        public function __toString(): string
        {
            fatal();
        }
    }

    $storage = new TokenBucketStorageMemory;
    $buckets = [];
    for ($i = 0; $i < 1000; $i++) {
        $buckets[] = new TokenBucket($storage, "bucket $i", 1000, 1);
    }
    $with = fn (...$last) => TokenBucket::attemptAll([...$buckets, ...$last]);
    $last = null;
    $call = match ($_GET['how']) {
        'method' => fn () => $with(OwnPrice::of($storage, fatal(...))),
        'statement' => function () use ($with) {
            $db = new PDO('sqlite::memory:');
            (new TokenBucketStoragePDO($db, 'limits'))->prepare();
            $db->setAttribute(PDO::ATTR_STATEMENT_CLASS, [DyingStatement::class]);
            $with(new TokenBucket(new TokenBucketStoragePDO($db, 'limits'), 'last', 10, 1));
        },
        'identifier' => fn () => $with(OwnPrice::of($storage, fn () => 1)->named(new DyingName)),
        'handler' => function () use ($with) {
            set_error_handler(fatal(...));
            $with(new TokenBucket(new TokenBucketStorageRedis("redis://127.0.0.$_GET[number]:1"), 'last', 10, 1));
        },
        'result' => fn () => $with(OwnPrice::of($storage, fn () => new DyingObject)),
        'element' => function () use ($buckets, $storage, &$last) {
            $last = new DyingBucket($storage, 'last', 10, 1);
            $list = [...$buckets, OwnPrice::of($storage, function () use (&$last) {
                $last = null;
                return 1;
            })];
            $list[] = &$last;
            TokenBucket::attemptAll($list);
        },
        'storage' => function () use (&$with, &$buckets, &$storage) {
            $with();
            $map = new WeakMap;
            $map[$storage] = new DyingObject;
            $with = null;
            $buckets = [];
            $storage = null;
        },
    };
    echo 'begun';
    $call();
    echo 'went on';
    PHP);
$rss = function () use ($fpm) {
    preg_match('/^VmRSS:\s+(\d+) kB$/m', file_get_contents("/proc/{$fpm->workers()[0]}/status"), $found);
    return (int) $found[1];
};
foreach (['method', 'statement', 'identifier', 'handler', 'result', 'element', 'storage'] as $how) {
    // Each request uses another server, because only a server's first failure raises a warning.
    $number = 1;
    $run = function (int $times) use ($fpm, $script, $how, &$number) {
        for ($i = 0; $i < $times; $i++) {
            $said = $fpm->get($script, ['how' => $how, 'number' => $number++]);
            check(preg_match('/begun.*Fatal error.*: +dead/s', $said) && !str_contains($said, 'went on'), "$how: $said");
        }
    };
    $worker = $fpm->workers();
    $run(10);
    $before = $rss();
    $run(50);
    $grown = $rss() - $before;
    // If the fifty requests leaked what they held, the worker would grow by more than 2 MB.
    check($grown < 1000, "$how: the worker has grown by $grown kB");
    check($fpm->workers() === $worker, "$how: the same worker");
    echo "$how\n";
}
$fpm->stop();
?>
--EXPECT--
method
statement
identifier
handler
result
element
storage
