--TEST--
The garbage collector frees cycles through storages and closures
--FILE--
<?php
require_once __DIR__ . '/../../tools/testkit/php/testkit.php';

class Holder extends GrantingStorage
{
    public $held;

    public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure)
    {
        $this->held[] = $bootstrap_closure;
        return true;
    }
}
class Sub extends TokenBucket
{
    public $more;
}
gc_collect_cycles();

echo "-- bucket and storage hold each other --\n";
$storage = new Holder;
$bucket = new TokenBucket($storage, 'x', 10, 1);
$storage->held[] = $bucket;
$references = [WeakReference::create($storage), WeakReference::create($bucket)];
unset($storage, $bucket);
print_values($references[0]->get() !== null, gc_collect_cycles() > 0, $references[0]->get(), $references[1]->get());

echo "-- the storage holds the closure, which holds the bucket --\n";
$storage = new Holder;
$bucket = new TokenBucket($storage, 'x', 10, 1);
$bucket->consume();
$references = [WeakReference::create($storage), WeakReference::create($bucket), WeakReference::create($storage->held[0])];
unset($storage, $bucket);
print_values($references[2]->get() !== null, gc_collect_cycles() > 0);
print_values(array_map(fn($reference) => $reference->get(), $references));

echo "-- a subclass that holds itself --\n";
$bucket = new Sub(new TokenBucketStorageMemory, 'x', 10, 1);
$bucket->more = [$bucket];
$bucket->dynamic = $bucket;
$reference = WeakReference::create($bucket);
unset($bucket);
print_values(gc_collect_cycles() > 0, $reference->get());

echo "-- no cycle: freed at once --\n";
$memory = new TokenBucketStorageMemory;
$reference = WeakReference::create($memory);
$bucket = new TokenBucket($memory, 'x', 10, 1);
unset($memory);
print_values($reference->get() instanceof TokenBucketStorageMemory, $bucket->consume());
$decision = $bucket->peek();
unset($bucket);
print_values($reference->get(), $decision->remaining);
$reference = WeakReference::create($decision);
unset($decision);
print_values($reference->get());

echo "-- memory does not grow --\n";
$run = function () {
    $storage = new TokenBucketStorageMemory;
    $shared = new TokenBucketStorageSharedMemory;
    $userland = new Holder;
    for ($i = 0; $i < 50; $i++) {
        $bucket = new Sub($storage, "identifier $i", 10, 1);
        $bucket->consume();
        $bucket->attempt(3)->headers('p', true);
        (clone $bucket)->peek();
        $bucket->refund();
        TokenBucket::attemptAll([$bucket, new TokenBucket($shared, "identifier $i", 10, 1)]);
        (new TokenBucket($userland, "identifier $i", 10, 1))->consume();
        $storage->consume("closure $i", 1, 10, function () use ($storage, $i) {
            $storage->bootstrap("closure $i", microtime(true) - 5);
            return true;
        });
        try {
            $bucket->consume(-1);
        } catch (ValueError $e) {
        }
        try {
            new TokenBucket($storage, "x $i", 0, 1);
        } catch (ValueError $e) {
        }
    }
    TokenBucket\status();
};
for ($i = 0; $i < 3; $i++) {
    $run();
}
gc_collect_cycles();
$before = memory_get_usage();
for ($i = 0; $i < 5; $i++) {
    $run();
}
gc_collect_cycles();
print_values(memory_get_usage() - $before < 1000);
?>
--EXPECTF--
-- bucket and storage hold each other --
true true null null
-- the storage holds the closure, which holds the bucket --
true true
[null, null, null]
-- a subclass that holds itself --

Deprecated: Creation of dynamic property Sub::$dynamic is deprecated in %s on line %d
true null
-- no cycle: freed at once --
true true
null 9.0
null
-- memory does not grow --
true
