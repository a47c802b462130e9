--TEST--
TokenBucket\status() counts grants, denials and buckets
--FILE--
<?php
/** Prints the change of each counter that a call changes. */
function change(string $name, callable $call): void
{
    $before = TokenBucket\status()['shared_memory'];
    $call();
    $after = TokenBucket\status()['shared_memory'];
    $changes = [];
    foreach ($after as $key => $value) {
        if (is_int($value) && $value !== $before[$key]) {
            $changes[] = sprintf('%s %+d', $key, $value - $before[$key]);
        }
    }
    echo "$name: ", implode(', ', $changes) ?: 'nothing', "\n";
}

$storage = new TokenBucketStorageSharedMemory;
$bucket = new TokenBucket($storage, 'x', 2, 0.001);
change('first consume', fn() => $bucket->consume());
change('grant', fn() => $bucket->attempt());
change('denial', fn() => $bucket->consume());
change('peek', fn() => $bucket->peek());
change('refund', fn() => $bucket->refund());
change('reset', fn() => $bucket->reset());
change('memory storage', fn() => (new TokenBucket(new TokenBucketStorageMemory, 'x', 1, 1))->consume());
$quick = new TokenBucket($storage, 'quick', 1, 1e6);
$quick->consume();
usleep(1000);
$before = TokenBucket\status()['shared_memory'];
var_dump($before['live'], $before['reclaimable']);
?>
--EXPECT--
first consume: live +1, empty -1, granted +1, inserted +1
grant: granted +1
denial: denied +1
peek: nothing
refund: refunds +1
reset: live -1, empty +1, resets +1
memory storage: nothing
int(0)
int(1)
