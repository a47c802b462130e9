--TEST--
settle() does not throw for a refund that was made, if the store then fails to reply with the numbers
--EXTENSIONS--
pcntl
--INI--
tokenbucket.failure_report=warning
--FILE--
<?php
require __DIR__ . '/outage.inc.php';

use TokenBucket\{OnFailure, Period, Quota};

/** Ends the connection of a client before its request number `$last`. */
final class Ends implements Watcher
{
    private int $asked = 0;

    public function __construct(private readonly int $last)
    {
    }

    public function asked(int $client, string $bytes): void
    {
        if (preg_match('/EVAL|^m[gs] /m', $bytes) && ++$this->asked === $this->last) {
            exit(0);
        }
    }

    public function answered(int $client, string $bytes): void
    {
    }

    public function ended(int $client): void
    {
    }
}

Warnings::collect();
foreach (Store::each() as $kind => $store) {
    // The last request is the look. On memcached, each change takes two.
    [$scheme, $last] = $kind === 'Redis' ? ['redis://', 3] : ['', 5];
    foreach ([OnFailure::Throw, OnFailure::Deny] as $policy) {
        alike(['bucket', 'quota'], function (string $of) use ($kind, $store, $policy, $scheme, $last) {
            $make = fn (TokenBucketStorage $storage) => $of === 'quota'
                ? new Quota($storage, "$of $policy->name", 9, Period::Year)
                : new TokenBucket($storage, "$of $policy->name", 9, 0.0001);
            $direct = $make($store->storage($policy));
            // The server learns the scripts.
            [$direct->consume(), $direct->refund(), $direct->peek()];
            $proxy = new Proxy("unix://{$store->server->socket}", new Ends($last));
            $class = "TokenBucketStorage$kind";
            $bucket = $make(new $class("{$scheme}127.0.0.1:$proxy->port", 'p:', PATIENCE, $policy, false));
            check($bucket->consume(5), 'taken');
            $decision = $bucket->settle(5, 1);
            printf("%s, %s: %s, fallback %d, %g left, the store has %.0f\n", $kind, $policy->name, $decision->reason, $decision->fallback, $decision->remaining, $direct->peek()->remaining);
        });
        // A later proxy may have the port of an earlier one, and the same failure is reported once.
        $warnings = Warnings::take();
        echo $policy === OnFailure::Throw ? "$warnings[0]\n" : '';
    }
}
?>
--EXPECT--
Redis, Throw: granted, fallback 1, 0 left, the store has 8
Warning: TokenBucket::settle(): redis://address/0: the connection broke: it was closed by the server; the call has changed the bucket
Redis, Deny: granted, fallback 1, 0 left, the store has 8
Memcached, Throw: granted, fallback 1, 0 left, the store has 8
Warning: TokenBucket::settle(): memcached at address: the connection broke: it was closed by the server; the call has changed the bucket
Memcached, Deny: granted, fallback 1, 0 left, the store has 8
