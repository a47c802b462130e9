--TEST--
A call of several requests sends one to a server that hangs, and the failure policy decides the rest
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=none
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\{OnFailure, Period, Quota};

/** A bucket that starts with five tokens. */
final class Started extends TokenBucket
{
    protected function _bootstrap($tokens)
    {
        parent::_bootstrap(5);
    }
}

foreach (Store::each() as $kind => $store) {
    foreach ([OnFailure::Local, OnFailure::Deny] as $policy) {
        $proxy = new Proxy("unix://{$store->server->socket}");
        $class = "TokenBucketStorage$kind";
        $storage = new $class(($kind === 'Redis' ? 'redis://' : '') . "127.0.0.1:$proxy->port", "$policy->name:", 0.4, $policy, false);
        $probe = new TokenBucket($storage, 'probe', 9, 1);
        $bucket = new TokenBucket($storage, 'bucket', 9, 0.0001);
        $quota = new Quota($storage, 'quota', 9, Period::Year);
        $calls = [
            'settle()' => fn () => $bucket->settle(5, 1),
            'settle() of a quota' => fn () => $quota->settle(5, 1),
            'attempt()' => fn () => (new Started($storage, 'attempt', 9, 0.0001))->attempt(),
            'attemptEach()' => fn () => TokenBucket::attemptEach([new Started($storage, 'each', 9, 0.0001)])[0],
            'charge()' => fn () => (new Started($storage, 'charge', 9, 0.0001))->charge(1),
            'reserve()' => fn () => (new Started($storage, 'reserve', 9, 0.0001))->reserve()->decision,
            'block() of a quota' => fn () => $quota->block(1.0),
            'block()' => fn () => (new Started($storage, 'block', 9, 0.0001))->block(1.0),
            'drain()' => fn () => (new Started($storage, 'drain', 9, 0.0001))->drain(3),
        ];
        $results = [];
        foreach ($calls as $method => $call) {
            wait_for('a reply', fn () => !$probe->peek()->fallback);
            $before = $proxy->roundTrips();
            $proxy->set(Proxy::SWALLOW_REQUESTS);
            $decision = $call();
            $sent = $proxy->roundTrips() - $before;
            $proxy->set(Proxy::PASS);
            check($sent === 1 && $decision->fallback, "$kind, $policy->name, $method: $sent requests");
            $results["$decision->reason, $decision->remaining left"][] = $method;
        }
        foreach ($results as $result => $methods) {
            echo "$kind, $policy->name: $result: ", implode(', ', $methods), "\n";
        }
    }
}
?>
--EXPECT--
Redis, Local: granted, 9 left: settle(), settle() of a quota
Redis, Local: granted, 5 left: attempt(), attemptEach(), charge(), reserve()
Redis, Local: granted, 0 left: block() of a quota, block()
Redis, Local: granted, 3 left: drain()
Redis, Deny: unavailable, 0 left: settle(), settle() of a quota, attempt(), attemptEach(), charge(), reserve(), block() of a quota, block(), drain()
Memcached, Local: granted, 9 left: settle(), settle() of a quota
Memcached, Local: granted, 5 left: attempt(), attemptEach(), charge(), reserve()
Memcached, Local: granted, 0 left: block() of a quota, block()
Memcached, Local: granted, 3 left: drain()
Memcached, Deny: unavailable, 0 left: settle(), settle() of a quota, attempt(), attemptEach(), charge(), reserve(), block() of a quota, block(), drain()
