--TEST--
LeakyBucket limits clients by action, leaks once in each period, and supports a dry run
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Compat\LeakyBucket;

$burst = function (LeakyBucket $bucket, $client, $action): int {
    for ($admitted = 0; $admitted < 100 && $bucket->request($client, $action); $admitted++) {
    }
    return $admitted;
};

$bucket = new LeakyBucket($memory = new TokenBucketStorageMemory);
check($bucket->request('1.2.3.4', 'search') === true, 'a bool');
check($burst($bucket, '1.2.3.4', 'search') === 5 && $bucket->request('1.2.3.4', 'search') === false, 'six in all');
check($burst($bucket, '1.2.3.4', 'login') === 6 && $burst($bucket, '1.2.3.5', 'search') === 6, 'by client and action');
// The hits of all clients leak at the same fixed clock times, once in each period.
$memory->advance(30);
check($burst($bucket, '1.2.3.4', 'search') === 1, 'one leaks each period');
$memory->advance(60);
check($burst($bucket, '1.2.3.4', 'search') === 2, 'two in two');
$memory->advance(86400);
check($burst($bucket, '1.2.3.4', 'search') === 6, 'no more than six ever');

check($bucket->bucket('login', 60, 2)->bucket('rating', period: 1, limit: 3) === $bucket, 'a chain');
check($burst($bucket, 'x', 'login') === 2 && $burst($bucket, 'x', 'rating') === 3, 'limits of their own');
check($burst($bucket, 'x', 'other') === 6, 'the others have theirs');
$copy = (clone $bucket)->bucket('login', 60, 4);
check($burst($copy, 'y', 'login') === 4 && $burst($bucket, 'z', 'login') === 2, 'a clone');
$bucket->bucket('login', 60, 3);
check($burst($bucket, 'w', 'login') === 3, 'the last word counts');

// Different pairs of client and action never share a bucket.
$bucket = new LeakyBucket(new TokenBucketStorageMemory, limit: 1);
foreach ([['a-b', 'c'], ['a', 'b-c'], ['a', 'b%2Dc'], ['a-b-', 'c'], ['a', '-b-c'], ['', 'a-b-c'], ['a-b-c', ''], ["\0", "\0"]] as $pair) {
    check($burst($bucket, ...$pair) === 1, json_encode($pair));
}
check($burst($bucket, 7, 1.5) === 1 && $burst($bucket, '7', '1.5') === 0, 'numbers are their digits');

$dry = new LeakyBucket(new TokenBucketStorageMemory, dryRun: true);
check($burst($dry, 'x', 'y') === 100, 'a dry run blocks nobody');

$shared = new LeakyBucket(new TokenBucketStorageSharedMemory, 86400, 6);
check($burst($shared, 'x', 'y') === 6, 'shared memory');
check($shared->cleanup() === null && $burst($shared, 'x', 'y') === 0, 'nothing to clean up');

class Actions extends LeakyBucket
{
    public function __construct(public $told = [])
    {
        parent::__construct(new TokenBucketStorageMemory, 30, 1);
    }

    public function request($id, $action = 'default'): bool
    {
        return parent::request($id, $action) && $this->told[] = $id;
    }
}
$bucket = new Actions;
check($bucket->request('x') && !$bucket->request('x') && $bucket->told === ['x'], 'a class that extends it');
echo "done\n";
?>
--EXPECT--
done
