--TEST--
While a store fails, a quota counts in this host's shared memory, or as the failure policy says
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';

use TokenBucket\OnFailure;
use TokenBucket\Period;
use TokenBucket\Quota;

fold_equal_lines();
foreach ([OnFailure::Local, OnFailure::Allow, OnFailure::Deny] as $policy) {
    echo "-- $policy->name --\n";
    alike([TokenBucketStorageRedis::class, TokenBucketStorageMemcached::class], function (string $class) use ($policy) {
        $storage = new $class('unix:///nonexistent/socket', prefix: "$policy->name:", onFailure: $policy);
        // The window began yesterday and ends in a year.
        $quota = new Quota($storage, 'x', 3, Period::Year, new DateTimeImmutable('-1 day'));
        $calls = [
            fn () => $quota->attempt(2), fn () => $quota->attempt(2), fn () => $quota->peek(), fn () => $quota->charge(3),
            fn () => $quota->settle(3, 1), fn () => $quota->block(5), fn () => $quota->attempt(),
        ];
        foreach ($calls as $call) {
            $decision = $call();
            print_values($decision->reason, $decision->remaining, $decision->fallback, $decision->resetAfter > 300 * 86400);
        }
        $both = TokenBucket::attemptAll([$quota, new TokenBucket($storage, 'b', 1, 1)]);
        print_values($both->allowed, $both->fallback);
        $quota->refund();
        $quota->reset();
        print_values($quota->peek()->remaining);
    });
}
?>
--EXPECT--
-- Local --
'granted' 1.0 true true
'insufficient_tokens' 1.0 true true
'granted' 1.0 true true
'granted' -2.0 true true
'granted' 0.0 true true (2 times)
'insufficient_tokens' 0.0 true true
false true
3.0
-- Allow --
'granted' 3.0 true true (7 times)
true true
3.0
-- Deny --
'unavailable' 0.0 true true (7 times)
false true
0.0
