--TEST--
acquire() grants at most the limit, and release() lets the next caller in
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\ConcurrencyLimit;

// Both storages behave alike. The control has another result.
alike(['SharedMemory', 'Memory'], function (string $name) {
    $class = "TokenBucketStorage$name";
    $storage = new $class;
    $limit = new ConcurrencyLimit($storage, 'exports', 3);
    $permits = [$limit->acquire(), $limit->acquire(), $limit->acquire(), $limit->acquire()];
    foreach ($permits as $permit) {
        show($permit->decision);
    }
    print_values($limit->held(), (new ConcurrencyLimit($storage, 'exports', 3))->held(), (new ConcurrencyLimit($storage, 'imports', 3))->held());

    echo "-- release() --\n";
    $permits[1]->release();
    $permits[1]->release();
    $permits[3]->release();
    print_values($limit->held(), $permits[1]->renew(), $permits[0]->renew(), $permits[3]->renew());
    $permits[1] = $limit->acquire();
    print_values($permits[1]->decision->allowed, $limit->acquire()->decision->reason, $limit->held());

    echo "-- a permit ends with its object --\n";
    unset($permits[0]);
    print_values($limit->held());
    $limit->acquire();
    print_values($limit->held());
    // Control: a permit does not end while a reference is left.
    $copy = $permits[1];
    unset($permits[1]);
    print_values($limit->held());
    $copy = null;
    print_values($limit->held());
    $cycle = new stdClass;
    $cycle->self = $cycle;
    $cycle->permit = $limit->acquire();
    $cycle = null;
    print_values($limit->held());
    gc_collect_cycles();
    print_values($limit->held());

    echo "-- two limits on one identifier share the permits --\n";
    $small = new ConcurrencyLimit($storage, 'exports', 1);
    array_push($permits, $limit->acquire(), $limit->acquire());
    show($small->acquire()->decision);
    print_values($small->held(), $limit->held());
    $permits = [];
    $one = $small->acquire();
    print_values($limit->held(), $limit->acquire()->decision->remaining);

    echo "-- the greatest limit --\n";
    $most = new ConcurrencyLimit($storage, 'most', 1024);
    for ($all = []; ($permit = $most->acquire())->decision->allowed;) {
        $all[] = $permit;
    }
    print_values(count($all), $most->held(), $permit->decision->reason);
    $all = [];
    print_values($most->held());

    echo "-- a bucket of the same name is independent --\n";
    $bucket = new TokenBucket($storage, 'exports', 1, 1);
    print_values($bucket->consume(), $one->renew());
});

echo "-- namespaces are apart --\n";
$a = (new ConcurrencyLimit(new TokenBucketStorageSharedMemory('a'), 'x', 1))->acquire();
$b = (new ConcurrencyLimit(new TokenBucketStorageSharedMemory('b'), 'x', 1))->acquire();
print_values($a->decision->allowed, $b->decision->allowed, (new ConcurrencyLimit(new TokenBucketStorageSharedMemory('a'), 'x', 1))->acquire()->decision->allowed);
print_values((new ConcurrencyLimit(new TokenBucketStorageMemory, 'x', 1))->held());
?>
--EXPECT--
allowed granted remaining=2.0 capacity=3.0 retryAfter=0.0 resetAfter=0.0
allowed granted remaining=1.0 capacity=3.0 retryAfter=0.0 resetAfter=0.0
allowed granted remaining=0.0 capacity=3.0 retryAfter=0.0 resetAfter=0.0
denied too_many_concurrent remaining=0.0 capacity=3.0 retryAfter=1.0 resetAfter=0.0
3 3 0
-- release() --
2 false true false
true 'too_many_concurrent' 3
-- a permit ends with its object --
2
2
2
1
2
1
-- two limits on one identifier share the permits --
denied too_many_concurrent remaining=0.0 capacity=1.0 retryAfter=1.0 resetAfter=0.0
1 3
1 1.0
-- the greatest limit --
1024 1024 'too_many_concurrent'
0
-- a bucket of the same name is independent --
true true
-- namespaces are apart --
true true false
0
