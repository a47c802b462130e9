--TEST--
Under php-fpm: limits are exact with opcache and with its JIT
--EXTENSIONS--
opcache
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/traffic.inc.php';

foreach ([
    'without JIT' => ['opcache.enable' => '1', 'opcache.jit_buffer_size' => '0'],
    'function JIT' => ['opcache.enable' => '1', 'opcache.jit_buffer_size' => '64M', 'opcache.jit' => 'function'],
    'tracing JIT' => ['opcache.enable' => '1', 'opcache.jit_buffer_size' => '64M', 'opcache.jit' => 'tracing'],
] as $how => $ini) {
    $fpm = new Fpm(ini: $ini);
    // Uses a subclass and a loop that is long enough for JIT compilation.
    $work = $fpm->script('work', <<<'PHP'
        <?php
        class Limiter extends TokenBucket
        {
            public function consume($token_count = 1)
            {
                return parent::consume($token_count);
            }
        }
        $storage = new TokenBucketStorageSharedMemory;
        $buckets = [new TokenBucket($storage, 'x', 500_000, 0.001), new Limiter($storage, 'x', 500_000, 0.001)];
        $granted = 0;
        for ($i = 0; $i < 10_000; $i++) {
            $granted += $buckets[$i % 2]->consume() ? 1 : 0;
            $granted += $buckets[$i % 2]->attempt()->allowed ? 1 : 0;
        }
        $status = opcache_get_status();
        echo json_encode([$granted, isset($status['scripts'][__FILE__]), $status['jit']['on'] ?? false]);
        PHP);
    $granted = 0;
    foreach (in_processes(4, fn () => array_map(fn () => json_decode($fpm->get($work)), range(1, 10))) as $answers) {
        foreach ($answers as [$of_request, $cached, $jit]) {
            $granted += $of_request;
        }
    }
    echo "$how: $granted granted, script ", $cached ? 'cached' : 'not cached', ', JIT ', $jit ? 'on' : 'off', "\n";
    $fpm->stop();
}
?>
--EXPECT--
without JIT: 500000 granted, script cached, JIT off
function JIT: 500000 granted, script cached, JIT on
tracing JIT: 500000 granted, script cached, JIT on
