--TEST--
ConcurrencyLimit on Redis: each failure policy applies while the server is down, and a later call removes permits
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require_once __DIR__ . '/../04_remote/outage.inc.php';

use TokenBucket\ConcurrencyLimit;
use TokenBucket\OnFailure;

Warnings::collect();
$redis = RedisServer::start();
$limit = fn (OnFailure $policy, int $limit = 2) => new ConcurrencyLimit(
    new TokenBucketStorageRedis("unix://$redis->socket", timeout: PATIENCE, onFailure: $policy), $policy->name, $limit, 3600,
);
/** Prints a decision, and whether the policy decided. */
$print = function (TokenBucket\Permit $permit): void {
    $decision = $permit->decision;
    print_values($decision->reason, $decision->remaining, $decision->fallback, $decision->unit);
};
/** Returns the message without the server's folder and the error number. */
$caught = function (callable $call): string {
    try {
        return json_encode($call());
    } catch (TokenBucket\StorageException $e) {
        return preg_replace('/: cannot connect.*|: not contacted.*/', ': …', Warnings::plain($e->getMessage()));
    }
};
$is_back = function () use ($limit): void {
    wait_for('the server decides again', function () use ($limit): bool {
        try {
            $limit(OnFailure::Throw, 1024)->held();
            return true;
        } catch (TokenBucket\StorageException) {
            return false;
        }
    });
};
foreach (OnFailure::cases() as $policy) {
    echo "-- $policy->name --\n";
    $held = $limit($policy)->acquire();
    $print($held);
    $redis->kill();
    $all = $limit($policy);
    foreach ($policy === OnFailure::Throw ? [] : [1, 2, 3] as $number) {
        $permits[$number] = $all->acquire();
        $print($permits[$number]);
    }
    echo $caught(fn () => $all->acquire()->decision->reason), ' ', $caught($all->held(...)), ' ', $caught($held->renew(...)), ' ', $caught($held->release(...)), "\n";
    if (isset($permits)) {
        print_values(...array_map(fn ($permit) => $permit->renew(), $permits));
        $permits[1]->release();
        print_values($all->held());
    }
    foreach (Warnings::take() as $warning) {
        echo $warning, "\n";
    }
    $redis->restart();
    $is_back();
    // The server has lost its data, so no permit is held there.
    $next = $all->acquire();
    $print($next);
    print_values($all->held());
    unset($permits, $held, $next);
    print_values($all->held());
    check(TokenBucket\status()['permits']['held'] === 0, 'permits of this host are given back to this host');
}

echo "-- a permit that could not be released is removed by the next call --\n";
$on = fn (float $timeout) => new ConcurrencyLimit(new TokenBucketStorageRedis("unix://$redis->socket", timeout: $timeout, onFailure: OnFailure::Throw), 'x', 1, 3600);
wait_for('a permit', function () use ($on, &$held): bool {
    try {
        $held = $on(1.0)->acquire();
        return $held->decision->allowed;
    } catch (TokenBucket\StorageException) {
        return false;
    }
});
$log = temporary_folder() . '/log';
ini_set('error_log', $log);
$redis->signal('STOP');
unset($held);
$redis->signal('CONT');
check(Warnings::take() === [], 'a destructor writes to the log');
echo preg_replace('/^\[.*?\] /', '', Warnings::plain(file_get_contents($log)));
$print($on(PATIENCE)->acquire());
?>
--EXPECT--
-- Local --
'granted' 1.0 false 'concurrent-requests'
'granted' 1.0 true 'concurrent-requests'
'granted' 0.0 true 'concurrent-requests'
'too_many_concurrent' 0.0 true 'concurrent-requests'
"too_many_concurrent" 2 true null
true true false
1
Warning: TokenBucket\ConcurrencyLimit::acquire(): unix:redis.sock?db=0: cannot connect: Connection refused (os error); using shared memory of this host until it recovers
'granted' 1.0 false 'concurrent-requests'
1
0
-- Allow --
'granted' 1.0 false 'concurrent-requests'
'granted' 1.0 true 'concurrent-requests'
'granted' 1.0 true 'concurrent-requests'
'granted' 1.0 true 'concurrent-requests'
"granted" 0 true null
true true true
0
'granted' 1.0 false 'concurrent-requests'
1
0
-- Deny --
'granted' 1.0 false 'concurrent-requests'
'unavailable' 0.0 true 'concurrent-requests'
'unavailable' 0.0 true 'concurrent-requests'
'unavailable' 0.0 true 'concurrent-requests'
"unavailable" 2 true null
false false false
2
'granted' 1.0 false 'concurrent-requests'
1
0
-- Throw --
'granted' 1.0 false 'concurrent-requests'
unix:redis.sock?db=0: … unix:redis.sock?db=0: … unix:redis.sock?db=0: … unix:redis.sock?db=0: …
'granted' 1.0 false 'concurrent-requests'
1
0
-- a permit that could not be released is removed by the next call --
tokenbucket: unix:redis.sock?db=0: no reply within the timeout; a permit may be held until its lease ends
'granted' 0.0 false 'concurrent-requests'
