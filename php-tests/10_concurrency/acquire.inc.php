<?php
use TokenBucket\ConcurrencyLimit;

/** Takes and releases permits in a storage, and prints the decisions. */
function take_permits(TokenBucketStorage $storage): void
{
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
    // As a control, keeps a reference to a permit: such a permit must not end.
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
}
