--TEST--
A forked child holds no permit of its parent, and ends none
--EXTENSIONS--
pcntl
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

use TokenBucket\ConcurrencyLimit;

$limit = new ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 2);
$permit = $limit->acquire();

echo "-- a child cannot renew or release the permit, and its end releases nothing --\n";
[$result] = in_processes(1, function () use (&$permit, $limit) {
    $renewed = $permit->renew();
    $permit->release();
    $held = $limit->held();
    unset($permit);
    return [$renewed, $held, $limit->held()];
});
print_values($result, $limit->held(), $permit->renew());

echo "-- a child has permits of its own, which end with it --\n";
[$result] = in_processes(1, function () use ($limit) {
    $own = $limit->acquire();
    $second = $limit->acquire();
    return [$own->decision->reason, $own->renew(), $second->decision->reason, $limit->held()];
});
print_values($result, $limit->held());
in_processes(1, function () use ($limit) {
    $GLOBALS['own'] = $limit->acquire();
    if (pcntl_fork() === 0) {
        // The grandchild's death ends no permit of the child.
        send_signal('KILL', getmypid());
    }
    pcntl_wait($status);
    check($GLOBALS['own']->renew() && $limit->held() === 2, 'the child holds its permit');
});
print_values($limit->held());

echo "-- the parent's permit is its own: a child cannot get it while the parent lives --\n";
[$result] = in_processes(1, function () use ($limit) {
    $all = [$limit->acquire(), $limit->acquire()];
    return [$all[0]->decision->reason, $all[1]->decision->reason];
});
print_values($result, $permit->renew());

echo "-- the death of the parent ends its permit, and not that of the child --\n";
$permit->release();
[$mine, $its] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
$parent = pcntl_fork();
if ($parent === 0) {
    $of_parent = $limit->acquire();
    $child = pcntl_fork();
    if ($child === 0) {
        $of_child = $limit->acquire();
        fwrite($its, sprintf("%10d", getmypid()));
        sleep(600);
    }
    sleep(600);
}
$child = (int) fread($mine, 10);
print_values($limit->held());
send_signal('KILL', $parent);
pcntl_waitpid($parent, $status);
print_values($limit->held());
send_signal('KILL', $child);
wait_for('the child is dead', fn () => $limit->held() === 0);
print_values($limit->held());
$permits = TokenBucket\status()['permits'];
print_values($permits['foreign'], $permits['unavailable']);

echo "-- a fake storage belongs to each process --\n";
$limit = new ConcurrencyLimit(new TokenBucketStorageMemory, 'x', 1);
$permit = $limit->acquire();
[$result] = in_processes(1, function () use ($permit, $limit) {
    $permit->release();
    return [$limit->held(), $limit->acquire()->decision->reason];
});
print_values($result, $limit->held());
?>
--EXPECT--
-- a child cannot renew or release the permit, and its end releases nothing --
[false, 1, 1] 1 true
-- a child has permits of its own, which end with it --
['granted', true, 'too_many_concurrent', 2] 1
1
-- the parent's permit is its own: a child cannot get it while the parent lives --
['granted', 'too_many_concurrent'] true
-- the death of the parent ends its permit, and not that of the child --
2
1
0
0 null
-- a fake storage belongs to each process --
[0, 'granted'] 1
