--TEST--
Applications create decisions for their tests
--FILE--
<?php
use TokenBucket\Decision;

require __DIR__ . '/../../tools/testkit/php/check.php';

fold_equal_lines();
echo "-- defaults --\n";
echo json_encode(new Decision(true)), "\n";
echo json_encode(new Decision(allowed: false)), "\n";
echo json_encode(new Decision(true, 3)), "\n";
echo "-- named arguments --\n";
$granted = new Decision(allowed: true, remaining: 3, capacity: 10, resetAfter: 7);
$denied = new Decision(allowed: false, capacity: 10, retryAfter: 6.5, resetAfter: 60, fallback: true);
echo json_encode($granted), "\n", json_encode($denied), "\n";
$never = new Decision(false, 0, 10, INF, 60, 'exceeds_capacity');
echo json_encode($never), "\n";
check(array_keys($never->jsonSerialize()) === array_keys((array) $never), 'the order of the properties');
check($never->jsonSerialize()['retryAfter'] === null && $never->retryAfter === INF, 'INF is null');
print_values((new Decision(true, -0.0))->remaining, $granted instanceof JsonSerializable);

echo "-- headers() --\n";
$megabytes = new Decision(true, 3, 10, 0, 7, unit: 'content-"bytes"');
$permits = new Decision(false, 0, 8, 1, 0, 'too_many_concurrent', unit: 'concurrent-requests');
$waiting = new Decision(false, 0, 8, 1, 0, 'too_many_waiting', unit: 'concurrent-requests');
$decisions = [$granted, $denied, $never, new Decision(true, 10, 10), new Decision(false), new Decision(false, 0, INF, INF, INF), $megabytes, $permits, $waiting];
foreach ($decisions as $decision) {
    $headers = $decision->headers();
    echo implode(' | ', array_map(fn($name, $value) => "$name: $value", array_keys($headers), $headers)), "\n";
}
$legacy = $granted->headers('a', true);
print_values(array_keys($legacy), $legacy['X-RateLimit-Reset'] - time() <= 8);

echo "-- headers() of a copy equal those of the original --\n";
$storage = new TokenBucketStorageMemory;
mt_srand(7);
for ($i = 0; $i < 2000; $i++) {
    $capacity = mt_rand(1, 100);
    $bucket = new TokenBucket($storage, "$i", $capacity, mt_rand(1, 1000) / mt_rand(1, 1000));
    $bucket->consume(mt_rand(1, $capacity));
    $original = $bucket->attempt(mt_rand(1, $capacity));
    $copy = new Decision(...(array) $original);
    check($copy == $original, 'the same properties');
    check($copy->headers() === $original->headers(), json_encode([$copy, $copy->headers(), $original->headers()]));
    check((clone $copy)->headers() === $copy->headers(), 'a clone');
}

echo "-- invalid arguments --\n";
foreach (['remaining', 'capacity', 'retryAfter', 'resetAfter'] as $name) {
    foreach ([NAN, -1, -INF] as $value) {
        echo thrown(fn() => new Decision(...['allowed' => true, $name => $value])), "\n";
    }
}
echo thrown(fn() => new Decision(true, 3, 2)), "\n";
echo thrown(fn() => new Decision(true, unit: "two\nlines")), "\n";
print_values((new Decision(true, unit: null))->unit, (new Decision(true, unit: 7))->unit);
echo thrown(fn() => new Decision), "\n";
echo thrown(fn() => new Decision(true, 'x')), "\n";
echo thrown(fn() => new Decision(allowed: true, limit: 3)), "\n";
echo thrown(fn() => $granted->__construct(false)), "\n";
echo thrown(fn() => $storage && $original->__construct(false)), "\n";
print_values($granted->allowed, $granted->remaining);
echo thrown(fn() => new Decision(true, reason: new class {
    public function __toString(): string
    {
        throw new DomainException('from __toString');
    }
})), "\n";
?>
--EXPECT--
-- defaults --
{"allowed":true,"remaining":0,"capacity":1,"retryAfter":0,"resetAfter":0,"reason":"granted","fallback":false,"refusedBy":null,"unit":null}
{"allowed":false,"remaining":0,"capacity":1,"retryAfter":0,"resetAfter":0,"reason":"insufficient_tokens","fallback":false,"refusedBy":null,"unit":null}
{"allowed":true,"remaining":3,"capacity":3,"retryAfter":0,"resetAfter":0,"reason":"granted","fallback":false,"refusedBy":null,"unit":null}
-- named arguments --
{"allowed":true,"remaining":3,"capacity":10,"retryAfter":0,"resetAfter":7,"reason":"granted","fallback":false,"refusedBy":null,"unit":null}
{"allowed":false,"remaining":0,"capacity":10,"retryAfter":6.5,"resetAfter":60,"reason":"insufficient_tokens","fallback":true,"refusedBy":null,"unit":null}
{"allowed":false,"remaining":0,"capacity":10,"retryAfter":null,"resetAfter":60,"reason":"exceeds_capacity","fallback":false,"refusedBy":null,"unit":null}
0.0 true
-- headers() --
RateLimit-Policy: "default";q=10;w=10 | RateLimit: "default";r=3;t=3
RateLimit-Policy: "default";q=10;w=60 | RateLimit: "default";r=0;t=6 | Retry-After: 7
RateLimit-Policy: "default";q=10;w=60 | RateLimit: "default";r=0;t=6
RateLimit-Policy: "default";q=10 | RateLimit: "default";r=10
RateLimit-Policy: "default";q=1 | RateLimit: "default";r=0 | Retry-After: 1
RateLimit-Policy: "default";q=999999999999999 | RateLimit: "default";r=0
RateLimit-Policy: "default";q=10;w=10;qu="content-\"bytes\"" | RateLimit: "default";r=3;t=3
RateLimit-Policy: "default";q=8;qu="concurrent-requests" | RateLimit: "default";r=0 | Retry-After: 1 (2 times)
['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] true
-- headers() of a copy equal those of the original --
-- invalid arguments --
ValueError: TokenBucket\Decision::__construct(): Argument #2 ($remaining) must be finite
nothing thrown
ValueError: TokenBucket\Decision::__construct(): Argument #2 ($remaining) must be finite
ValueError: TokenBucket\Decision::__construct(): Argument #3 ($capacity) must not be NAN
ValueError: TokenBucket\Decision::__construct(): Argument #3 ($capacity) must be greater than or equal to 0 (2 times)
ValueError: TokenBucket\Decision::__construct(): Argument #4 ($retryAfter) must not be NAN
ValueError: TokenBucket\Decision::__construct(): Argument #4 ($retryAfter) must be greater than or equal to 0 (2 times)
ValueError: TokenBucket\Decision::__construct(): Argument #5 ($resetAfter) must not be NAN
ValueError: TokenBucket\Decision::__construct(): Argument #5 ($resetAfter) must be greater than or equal to 0 (2 times)
ValueError: TokenBucket\Decision::__construct(): Argument #2 ($remaining) must be less than or equal to argument #3 ($capacity)
ValueError: TokenBucket\Decision::__construct(): Argument #9 ($unit) must contain only printable ASCII characters
null '7'
ArgumentCountError: TokenBucket\Decision::__construct() expects at least 1 argument, 0 given
TypeError: TokenBucket\Decision::__construct(): Argument #2 ($remaining) must be of type float, string given
Error: Unknown named parameter $limit
Error: Cannot modify readonly property TokenBucket\Decision::$allowed (2 times)
true 3.0
DomainException: from __toString
