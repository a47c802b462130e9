--TEST--
Denial hints: what is told unasked, by whom it is undone, and when
--EXTENSIONS--
pcntl
--SKIPIF--
<?php
if (getenv('USE_ZEND_ALLOC') === '0') {
    die('skip times matter');
}
?>
--FILE--
<?php
require __DIR__ . '/../check.inc.php';
require __DIR__ . '/../child.inc.php';
require __DIR__ . '/../processes.inc.php';
require __DIR__ . '/../servers.inc.php';
require __DIR__ . '/../proxy.inc.php';

const AGE = 0.8;

$redis = RedisServer::start();
$memcached = MemcachedServer::startTcp();
$stores = [
    'Redis' => [new Proxy("unix://$redis->socket"), 'redis://'],
    'Memcached' => [new Proxy("tcp://127.0.0.1:$memcached->port"), ''],
];
foreach ($stores as $kind => [$proxy, $scheme]) {
    $class = "TokenBucketStorage$kind";
    $address = "{$scheme}127.0.0.1:$proxy->port";
    $storage = fn (bool $hints = true, float $age = AGE) => new $class($address, 'p:', 2.0, TokenBucket\OnFailure::Throw, $hints, $age);
    $bucket = fn (string $name, int $capacity = 5, float $rate = 0.001) => new TokenBucket($storage(), $name, $capacity, $rate);
    $asked = function (callable $call) use ($proxy): array {
        $before = $proxy->roundTrips();
        return [$call(), $proxy->roundTrips() - $before];
    };
    // A php of its own is another host: it has another segment.
    $elsewhere = fn (string $name, string $call) => php_run(sprintf(
        'echo json_encode((new TokenBucket(new %s(%s, "p:", 2.0), %s, 5, 0.001))->%s);',
        $class, var_export($address, true), var_export($name, true), $call
    ));
    $is = fn (mixed $expected, mixed $found, string $what) => check($expected === $found, "$kind: $what: " . json_encode($found));

    // Decisions that are told are sane, and near those that were asked for.
    $x = $bucket('x');
    $is(true, $x->consume(4), 'taken');
    [$answered, $trips] = $asked(fn () => $x->attempt(3));
    $is([false, 1], [$answered->allowed, $trips], 'a first denial asks');
    [$told, $trips] = $asked(fn () => $x->attempt(3));
    $is([false, 'insufficient_tokens', 1.0, 5.0, 0], [$told->allowed, $told->reason, $told->remaining, $told->capacity, $trips], 'told');
    check(abs($told->retryAfter - $answered->retryAfter) < 0.1 && $told->retryAfter > 1900 && $told->retryAfter <= 2000.1, "$kind: retryAfter $told->retryAfter, $answered->retryAfter");
    check(abs($told->resetAfter - $answered->resetAfter) < 0.1 && $told->resetAfter > 3900 && $told->resetAfter <= 4000.1, "$kind: resetAfter $told->resetAfter, $answered->resetAfter");
    $is([true, 1], $asked(fn () => $x->consume(1)), 'what may be there is asked for');
    $is([true, 1], $asked(fn () => $x->consume(0)), 'nothing is asked for');
    $is([0.0, 1], $asked(fn () => $x->peek()->remaining), 'peek() asks');
    $is([false, 0], $asked(fn () => $x->consume()), 'what peek() has seen is told');
    $is([[false, false], 0], $asked(fn () => in_processes(2, fn () => $x->consume())), 'told to other processes of this host');

    // Told up to the age, asked beyond.
    $old = $bucket('old', 1);
    $old->consume();
    $old->consume();
    $start = hrtime(true);
    while ((hrtime(true) - $start) / 1e9 < AGE - 0.1) {
        $is([false, 0], $asked(fn () => $old->consume()), 'told while it is young');
        usleep(50_000);
    }
    usleep(200_000);
    $is([false, 1], $asked(fn () => $old->consume()), 'asked when it is old');
    $is([false, 0], $asked(fn () => $old->consume()), 'told again');

    // retryAfter, told or not, is enough.
    foreach ([[3, 20.0], [1, 7.0], [10, 300.0]] as [$capacity, $rate]) {
        for ($round = 0; $round < 3; $round++) {
            $quick = $bucket("quick $rate $round", $capacity, $rate);
            $quick->consume($capacity);
            $quick->consume($capacity);
            [$decision, $trips] = $asked(fn () => $quick->attempt($capacity));
            $is([false, 0], [$decision->allowed, $trips], 'told');
            check($decision->retryAfter > 0 && $decision->retryAfter <= $capacity / $rate + 0.05, "$kind: retryAfter $decision->retryAfter");
            usleep((int) ceil($decision->retryAfter * 1e6));
            $is(true, $quick->consume($capacity), "granted after retryAfter of $rate");
        }
    }
    $waiting = $bucket('waiting', 2, 10.0);
    $waiting->consume(2);
    $waiting->consume(2);
    $is(true, $waiting->wait(5, 2)->allowed, 'wait() on a told denial');

    // What this host gives back counts at once.
    $own = $bucket('own', 5);
    foreach (['refund' => fn () => $own->refund(2), 'reset' => fn () => $own->reset()] as $method => $call) {
        $own->consume(5);
        while ($own->consume()) {
        }
        $is([false, 0], $asked(fn () => $own->consume()), 'told');
        in_processes(1, $call);
        // On memcached a worker writes over the item as it knew it, and then as it is.
        [$granted, $trips] = $asked(fn () => $own->consume());
        check($granted && $trips >= 1 && $trips <= ($kind === 'Redis' ? 1 : 2), "$kind: $method() of a process of this host, $trips");
    }

    // What another host gives back counts within the age.
    foreach (['refund(2)', 'reset()'] as $call) {
        $far = $bucket("far $call");
        $far->consume(5);
        $is([false, false], [$far->consume(), $far->consume()], 'denied');
        $is('null', $elsewhere("far $call", $call), "$call elsewhere");
        $start = hrtime(true);
        while (!$far->consume() && (hrtime(true) - $start) / 1e9 < 3) {
            usleep(10_000);
        }
        $took = (hrtime(true) - $start) / 1e9;
        check($took < AGE + 0.15, "$kind: $call elsewhere counts after $took s");
    }

    // What another host takes is seen, too.
    $is('true', $elsewhere('far 2', 'consume(5)'), 'taken elsewhere');
    $is([false, 1], $asked(fn () => $bucket('far 2')->consume()), 'denied here');

    // Without hints, or with an age of nothing, each call asks.
    foreach ([[false, AGE], [true, 0.0]] as [$hints, $age]) {
        $plain = new TokenBucket($storage($hints, $age), 'plain' . json_encode($hints), 1, 0.001);
        $plain->consume();
        $is([[false, false, false], 3], $asked(fn () => [$plain->consume(), $plain->consume(), $plain->consume()]), 'asked each time');
    }

    // Another prefix is another bucket.
    $other = new TokenBucket(new $class($address, 'q:', 2.0), 'old', 1, 0.001);
    $is([true, 1], $asked(fn () => $other->consume()), 'another prefix');
    // Another quota on the same bucket is decided by the same state.
    $is([false, 1], $asked(fn () => $bucket('x')->consume(5)), 'asked after so long');
    $is([false, 0], $asked(fn () => $bucket('x', 3)->consume(3)), 'a smaller quota is told');
}
echo "done\n";
?>
--EXPECT--
done
