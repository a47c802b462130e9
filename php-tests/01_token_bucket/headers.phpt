--TEST--
Decision::headers() returns RateLimit fields, and Retry-After on a denial
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

$storage = new TokenBucketStorageMemory;
$bucket = new TokenBucket($storage, 'x', 10, 1);
echo "-- full, half, empty --\n";
dump($bucket->peek()->headers());
dump($bucket->attempt(5)->headers());
dump($bucket->attempt(5)->headers());
echo "-- denied --\n";
dump($bucket->attempt()->headers());
dump($bucket->attempt(7)->headers());
$storage->advance(3.4);
dump($bucket->attempt(7)->headers());
echo "-- more than the capacity: no Retry-After --\n";
dump(array_keys($bucket->attempt(11)->headers()));
echo "-- slow and fast --\n";
$slow = new TokenBucket($storage, 'slow', 3, 0.05);
dump($slow->attempt(3)->headers());
dump($slow->attempt()->headers());
$fast = new TokenBucket($storage, 'fast', 1000, 5000);
dump($fast->attempt(1000)->headers());
dump($fast->attempt(1)->headers());
echo "-- Retry-After is never before the end of t --\n";
mt_srand(5);
for ($i = 0; $i < 500; $i++) {
    $capacity = mt_rand(1, 100);
    $random = new TokenBucket($storage, "random $i", $capacity, mt_rand(1, 1000) / mt_rand(1, 1000));
    $random->attempt(mt_rand(0, $capacity));
    $decision = $random->attempt(mt_rand(0, $capacity));
    $headers = $decision->headers();
    check(preg_match('/^"default";r=(\d+);t=(\d+)$/D', $headers['RateLimit'], $m) === 1, $headers['RateLimit']);
    check((float) $m[1] === $decision->remaining, 'r is what is left');
    check($decision->allowed === !isset($headers['Retry-After']), 'Retry-After only on a denial');
    if (!$decision->allowed) {
        // Tolerates a microsecond, because a reply takes longer than that to reach the client.
        check($headers['Retry-After'] > $decision->retryAfter - 1e-6 && $headers['Retry-After'] >= $m[2], json_encode($headers));
        check($headers['Retry-After'] < max($decision->retryAfter, (int) $m[2]) + 1, json_encode($headers));
    }
}
?>
--EXPECT--
-- full, half, empty --
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=10;t=10']
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=5;t=5']
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=0;t=1']
-- denied --
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=0;t=1', 'Retry-After' => '1']
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=0;t=1', 'Retry-After' => '7']
['RateLimit-Policy' => '"default";q=10;w=10', 'RateLimit' => '"default";r=3;t=3', 'Retry-After' => '4']
-- more than the capacity: no Retry-After --
['RateLimit-Policy', 'RateLimit']
-- slow and fast --
['RateLimit-Policy' => '"default";q=3;w=60', 'RateLimit' => '"default";r=0;t=20']
['RateLimit-Policy' => '"default";q=3;w=60', 'RateLimit' => '"default";r=0;t=20', 'Retry-After' => '20']
['RateLimit-Policy' => '"default";q=1000;w=1', 'RateLimit' => '"default";r=0;t=1']
['RateLimit-Policy' => '"default";q=1000;w=1', 'RateLimit' => '"default";r=0;t=1', 'Retry-After' => '1']
-- Retry-After is never before the end of t --
