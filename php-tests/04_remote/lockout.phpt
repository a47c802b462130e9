--TEST--
Lockouts on Redis and memcached are exact between processes, and follow the failure policy
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\Lockout;
use TokenBucket\OnFailure;

foreach (Store::each() as $store) {
    $kind = $store->kind;
    $lockout = fn (OnFailure $policy = OnFailure::Throw, string $identifier = 'alice', float $block = 900.0)
        => new Lockout($store->storage($policy), $identifier, 5, $block);
    // Exactly five of all parallel guesses are allowed.
    $allowed = in_processes(8, fn () => count(array_filter(array_map(fn () => $lockout()->attempt()->allowed, range(1, 5)))));
    check(array_sum($allowed) === 5, "$kind: " . json_encode($allowed));
    $denied = $lockout()->attempt();
    check([$denied->reason, round($denied->retryAfter, -1), $denied->remaining] === ['locked_out', 900.0, 0.0], "$kind: " . json_encode($denied));
    check($lockout()->peek()->reason === 'locked_out', "$kind: peek()");
    // No identifier of a bucket spells the record of a lockout.
    foreach (['alice', 'lockout:alice', 'alice~lockout'] as $name) {
        check((new TokenBucket($store->storage(OnFailure::Throw), $name, 1, 1))->consume(), "$kind: a bucket $name");
        check(!$lockout()->attempt()->allowed, "$kind: $name");
    }
    $lockout()->succeed();
    $lockout()->succeed();
    check([$lockout()->peek()->remaining, $lockout()->attempt()->remaining] === [5.0, 4.0], "$kind: succeed()");
    // Attempts that are taken back leave no failure.
    $in_vain = function () use ($lockout): int {
        for ($i = $cancelled = 0; $i < 10; $i++) {
            $cancelled += (int) $lockout(identifier: 'down')->cancel($lockout(identifier: 'down')->attempt());
        }
        return $cancelled;
    };
    $cancelled = array_sum(in_processes(8, $in_vain));
    check($cancelled >= 5, "$kind: $cancelled attempts");
    check($lockout(identifier: 'down')->peek()->remaining === 5.0, "$kind: " . json_encode($lockout(identifier: 'down')->peek()));
    for ($free = 0; ($attempt = $lockout(identifier: 'thrower')->attempt())->allowed; $free++) {
        $lockout(identifier: 'thrower')->cancel($attempt);
    }
    check($free === 105, "$kind: $free free guesses");
    // After a short block, one attempt is allowed, and the next block is twice as long.
    for ($i = 0, $short = $lockout(identifier: 'short', block: 0.01); $i < 5; $i++) {
        $short->attempt();
    }
    while (!($next = $short->attempt())->allowed);
    $denied = $short->peek();
    check($next->remaining === 0.0 && $denied->retryAfter <= 0.02, "$kind: " . json_encode($denied));
    // This key holds other data.
    $kind === 'Redis' ? $store->server->command('SET', 'p:other~lockout', '1') : $store->server->command("set p:other~lockout 0 0 1\r\n1", 'STORED');
    check(str_contains(thrown(fn () => $lockout(identifier: 'other')->attempt()), 'does not hold a record'), "$kind: other data");

    for ($i = 0; $i < 3; $i++) {
        $lockout()->attempt();
    }
    $on_server = $lockout()->attempt();
    $store->server->kill();
    // With Local, the host's own lockout decides, which has seen no attempt.
    foreach ([[OnFailure::Local, [5, 'locked_out']], [OnFailure::Allow, [7, 'granted']], [OnFailure::Deny, [0, 'unavailable']]] as [$policy, $expected]) {
        $decisions = array_map(fn () => $lockout($policy)->attempt(), range(1, 7));
        $found = [count(array_filter(array_column($decisions, 'allowed'))), end($decisions)->reason];
        check($found === $expected && end($decisions)->fallback, "$kind: $policy->name " . json_encode($found));
        // The host takes back what it has counted. The decision of the server changes nothing here.
        $cancelled = array_map($lockout($policy)->cancel(...), [$on_server, $decisions[0]]);
        check($cancelled === [false, $policy === OnFailure::Local], "$kind: $policy->name " . json_encode($cancelled));
    }
    check(str_starts_with(thrown(fn () => $lockout()->attempt()), 'TokenBucket\StorageException'), "$kind: Throw");
    $lockout(OnFailure::Local)->succeed();
    check($lockout(OnFailure::Local)->peek()->remaining === 5.0, "$kind: succeed() clears the host's own lockout");
}
echo "done\n";
?>
--EXPECT--
done
