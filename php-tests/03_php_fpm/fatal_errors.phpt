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
require __DIR__ . '/../../testkit/php/check.php';
require __DIR__ . '/../../testkit/php/fpm.php';

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

    class DyingBucket extends TokenBucket
    {
        protected function _tokens_to_seconds($tokens)
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
    $last = match ($_GET['how']) {
        'method' => new DyingBucket($storage, 'last', 10, 1),
        'statement' => (function () {
            $db = new PDO('sqlite::memory:');
            $storage = new TokenBucketStoragePDO($db, 'limits');
            $storage->prepare();
            $db->setAttribute(PDO::ATTR_STATEMENT_CLASS, [DyingStatement::class]);
            return new TokenBucket(new TokenBucketStoragePDO($db, 'limits'), 'last', 10, 1);
        })(),
        'handler' => new TokenBucket(new TokenBucketStorageRedis("redis://127.0.0.$_GET[number]:1"), 'last', 10, 1),
        'identifier' => (function () use ($storage) {
            $bucket = new class ($storage, 'last', 10, 1) extends TokenBucket {
                public function name($name)
                {
                    $this->_identifier = $name;
                    return $this;
                }
            };
            return $bucket->name(new DyingName);
        })(),
    };
    if ($_GET['how'] === 'handler') {
        set_error_handler(fn () => fatal());
    }
    echo 'begun';
    TokenBucket::attemptAll([...$buckets, $last]);
    echo 'went on';
    PHP);
$rss = function () use ($fpm) {
    preg_match('/^VmRSS:\s+(\d+) kB$/m', file_get_contents("/proc/{$fpm->workers()[0]}/status"), $found);
    return (int) $found[1];
};
foreach (['method', 'statement', 'identifier', 'handler'] as $how) {
    // Each request uses another server, because only a server's first failure raises a warning.
    $number = 1;
    $run = function (int $times) use ($fpm, $script, $how, &$number) {
        for ($i = 0; $i < $times; $i++) {
            $said = $fpm->get($script, ['how' => $how, 'number' => $number++]);
            check(str_contains($said, 'begun') && str_contains($said, 'Fatal error') && !str_contains($said, 'went on'), "$how: $said");
        }
    };
    $worker = $fpm->workers();
    $run(10);
    $before = $rss();
    $run(50);
    $grown = $rss() - $before;
    // The fifty requests held more than 10 MB.
    check($grown < 2000, "$how: the worker has grown by $grown kB");
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
