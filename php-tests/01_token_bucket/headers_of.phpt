--TEST--
headersOf() joins the fields of several decisions, and problem() describes a denial
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\Decision;

fold_equal_lines();
function fields(array $headers): void
{
    foreach ($headers as $name => $value) {
        echo "$name: ", $name === 'X-RateLimit-Reset' ? 'an instant' : $value, "\n";
    }
}

$storage = new TokenBucketStorageMemory;
$burst = new TokenBucket($storage, 'burst', 10, 10);
$daily = new TokenBucket($storage, 'daily', 100, 100 / TokenBucket::DAY);
echo "-- grants --\n";
fields(Decision::headersOf(TokenBucket::attemptEach(['burst' => $burst, 'daily' => $daily])));
echo "-- two denials: the greatest Retry-After, and the legacy fields of the tightest --\n";
$burst->drain();
$daily->drain(3);
fields(Decision::headersOf(TokenBucket::attemptEach(['burst' => $burst, 'daily' => [$daily, 5], 'other' => new TokenBucket($storage, 'x', 5, 1)]), true));
echo "-- one that never ends --\n";
fields(Decision::headersOf(['a' => $burst->attempt(), 'b' => $burst->attempt(11)]));
echo "-- names, and a lockout --\n";
fields(Decision::headersOf([$burst->peek(), 'a "b"' => (new TokenBucket\Lockout($storage, 'x', 1))->attempt()]));
echo "-- a partition --\n";
foreach (['', 'a', 'ab', 'abc', "\xff\xfe\xfd\xfc"] as $key) {
    echo $burst->peek()->headers('p', partition: $key)['RateLimit'], "\n";
    check(str_contains($burst->peek()->headers('p', false, $key)['RateLimit-Policy'], ';pk=:' . base64_encode($key) . ':'), $key);
}
print_values($burst->peek()->headers('p', false, null) === $burst->peek()->headers('p'));
echo "-- problems --\n";
print_values($burst->attempt()->problem(['burst', 'daily']));
// JSON must have an array of strings, whatever the keys and the types of the names are.
echo json_encode($burst->attempt()->problem([3 => 'daily', 'x' => 0])['violated-policies']), "\n";
$low = $daily->attempt(1, 50);
print_values($low->reason, $low->problem());
foreach (['insufficient_tokens', 'exceeds_capacity', 'below_floor', 'too_many_concurrent', 'too_many_waiting', 'locked_out', 'contended', 'table_full', 'unavailable', 'server_busy', 'interrupted', 'my own'] as $reason) {
    echo "$reason: ", (new Decision(false, reason: $reason))->problem()['status'], "\n";
}
echo "-- arguments --\n";
foreach ([[], ['a' => 1], ["\n" => $low], ['ä' => $low]] as $decisions) {
    echo thrown(fn () => Decision::headersOf($decisions)), "\n";
}
echo thrown(fn () => (new Decision(true))->problem()), "\n";
foreach ([[null], ['a', 1.5], [['a']], [new ArrayObject]] as $policies) {
    echo thrown(fn () => $low->problem($policies)), "\n";
}
?>
--EXPECT--
-- grants --
RateLimit-Policy: "burst";q=10;w=1, "daily";q=100;w=86400
RateLimit: "burst";r=9;t=1, "daily";r=99;t=85536
-- two denials: the greatest Retry-After, and the legacy fields of the tightest --
RateLimit-Policy: "burst";q=10;w=1, "daily";q=100;w=86400, "other";q=5;w=5
RateLimit: "burst";r=0;t=1, "daily";r=3;t=2592, "other";r=4;t=4
Retry-After: 2592
X-RateLimit-Limit: 10
X-RateLimit-Remaining: 0
X-RateLimit-Reset: an instant
-- one that never ends --
RateLimit-Policy: "a";q=10;w=1, "b";q=10;w=1
RateLimit: "a";r=0;t=1, "b";r=0;t=1
-- names, and a lockout --
RateLimit-Policy: "0";q=10;w=1, "a \"b\"";q=1
RateLimit: "0";r=0;t=1, "a \"b\"";r=0;t=900
Retry-After: 1
-- a partition --
"p";pk=::;r=0;t=1
"p";pk=:YQ==:;r=0;t=1
"p";pk=:YWI=:;r=0;t=1
"p";pk=:YWJj:;r=0;t=1
"p";pk=://79/A==:;r=0;t=1
true
-- problems --
['type' => 'https://iana.org/assignments/http-problem-types#quota-exceeded', 'title' => 'Request cannot be satisfied as assigned quota has been exceeded', 'status' => 429, 'violated-policies' => ['burst', 'daily']]
["daily","0"]
'below_floor' ['type' => 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity', 'title' => 'Request cannot be satisfied due to temporary server capacity constraints', 'status' => 503]
insufficient_tokens: 429
exceeds_capacity: 429
below_floor: 503
too_many_concurrent: 429
too_many_waiting: 429
locked_out: 429
contended: 503
table_full: 503
unavailable: 503
server_busy: 503
interrupted: 429
my own: 429
-- arguments --
ValueError: TokenBucket\Decision::headersOf(): Argument #1 ($decisions) must not be empty
TypeError: TokenBucket\Decision::headersOf(): Argument #1 ($decisions) must contain only TokenBucket\Decision objects
ValueError: TokenBucket\Decision::headersOf(): Argument #1 ($decisions) must have keys of printable ASCII characters (2 times)
LogicException: A granted decision is no problem
TypeError: TokenBucket\Decision::problem(): Argument #1 ($policies) must contain only strings and integers (4 times)
