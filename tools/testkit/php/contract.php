<?php
require_once __DIR__ . '/testkit.php';

/** A bucket that starts with $initial tokens, which may be fewer than its capacity. */
class StartsWith extends TokenBucket
{
    public $initial = 0;

    protected function _bootstrap($initialTokens)
    {
        parent::_bootstrap(min($initialTokens, $this->initial));
    }
}

/**
 * Checks the behaviour that every storage must have, on a storage without buckets.
 *
 * The rates are so low that no token is refilled during a test. $pass advances the time by the
 * given seconds. prepare() is not called if $is_prepared is true.
 */
final class Contract
{
    private static int $number = 0;

    public function __construct(
        private readonly string $name,
        private readonly TokenBucketStorage $storage,
        private readonly Closure $pass,
        private readonly bool $is_prepared = false,
    ) {
    }

    public function check(): void
    {
        foreach (get_class_methods($this) as $method) {
            // The polyfill has tests of its own for quotas.
            $is_missing = str_starts_with($method, 'quotas_') && isset(TokenBucket\status()['polyfill']);
            if (!$is_missing && !in_array($method, ['__construct', 'check', 'bucket', 'is', 'name'], true)) {
                $this->$method();
            }
        }
    }

    private function bucket(string $identifier, int|float $capacity = 10, int|float $rate = 0.001): TokenBucket
    {
        return new TokenBucket($this->storage, $identifier, $capacity, $rate);
    }

    private function name(): string
    {
        return 'bucket ' . ++self::$number;
    }

    private function is(mixed $expected, mixed $found, string $what): void
    {
        check($expected === $found, "$this->name: $what: " . var_export($found, true));
    }

    private function a_fresh_bucket_of_n_grants_n(): void
    {
        foreach ([[7, 0.003], [3, 1 / 3600]] as [$capacity, $rate]) {
            foreach ([TokenBucket::class, UserlandTokenBucket::class] as $class) {
                $bucket = new $class($this->storage, $this->name(), $capacity, $rate);
                $granted = array_map(fn () => $bucket->consume(), range(1, $capacity + 3));
                $this->is($capacity, count(array_filter($granted)), "$class grants $capacity");
            }
        }
    }

    private function a_denial_changes_nothing(): void
    {
        $bucket = $this->bucket($this->name());
        $this->is([true, true, true], [$bucket->consume(0), $bucket->consume(5.5), $bucket->consume(1.5)], '7 of 10');
        for ($i = 0; $i < 20; $i++) {
            $this->is(false, $bucket->consume(4), '4 of 3');
        }
        $this->is('exceeds_capacity', $bucket->attempt(10.5)->reason, 'more than the capacity');
        $this->is(3.0, $bucket->peek()->remaining, 'left after denials');
        $this->is([true, false, true], [$bucket->consume(3), $bucket->consume(), $bucket->consume(0)], '3 of 3');
    }

    private function decisions_tell_the_whole_answer(): void
    {
        $bucket = $this->bucket($this->name());
        $fresh = $bucket->peek(10);
        $this->is([true, 10.0, 10.0, 0.0, 0.0, 'granted', false, null, null], array_values((array) $fresh), 'fresh');
        $granted = $bucket->attempt(3);
        $this->is([true, 7.0, 10.0, 0.0, 'granted'], [
            $granted->allowed, $granted->remaining, $granted->capacity, $granted->retryAfter, $granted->reason,
        ], 'granted');
        $this->is(3000.0, round($granted->resetAfter, -1), 'full again after');
        $denied = $bucket->attempt(8);
        $this->is([false, 7.0, 10.0, 'insufficient_tokens'], [
            $denied->allowed, $denied->remaining, $denied->capacity, $denied->reason,
        ], 'denied');
        $this->is([1000.0, 3000.0], [round($denied->retryAfter, -2), round($denied->resetAfter, -2)], 'denied until');
        $this->is([true, false], [$bucket->peek(7)->allowed, $bucket->peek(8)->allowed], 'peeks');
        $this->is(7.0, $bucket->peek()->remaining, 'what peek and a denial left');
    }

    private function times_are_tight(): void
    {
        $start = hrtime(true);
        $bucket = $this->bucket($this->name(), 3, 0.01);
        $bucket->consume(3);
        $denied = $bucket->attempt();
        // The times of a cached denial can be wrong by the duration of a call. A database may read
        // a clock that is some milliseconds old.
        $elapsed = (hrtime(true) - $start) / 1e9 + 0.05;
        $this->is(true, abs($denied->retryAfter - 100) <= $elapsed, "retryAfter $denied->retryAfter");
        $this->is(true, abs($denied->resetAfter - 300) <= $elapsed, "resetAfter $denied->resetAfter");
        // At this rate, the cost of a token is one microsecond, which is the
        // lowest cost on a server or in a database.
        $this->is(true, $this->bucket($this->name(), 5, 1_000_000)->consume(5), 'five at once');
    }

    private function charges_and_settlements(): void
    {
        $bucket = $this->bucket($this->name());
        $charged = $bucket->charge(13);
        $this->is([true, -3.0, 'granted'], [$charged->allowed, $charged->remaining, $charged->reason], 'a debt of 3');
        $denied = $bucket->attempt(0);
        $this->is([false, 3000.0], [$denied->allowed, round($denied->retryAfter, -2)], 'in debt');
        // A cached denial assumes the latest state that is possible, so it may show one token more.
        $this->is(true, in_array($denied->remaining, [-3.0, -4.0]), "owed: $denied->remaining");
        $this->is([-5.0, 3.0], [$bucket->settle(1, 3)->remaining, $bucket->settle(10, 2)->remaining], 'settled');
        $this->is([true, false], [$bucket->consume(3), $bucket->consume()], 'after both');
    }

    private function quotas_count_in_windows(): void
    {
        // The window began yesterday and ends in a year.
        $anchor = new DateTimeImmutable('-1 day');
        $name = $this->name();
        $quota = fn (int $limit) => new TokenBucket\Quota($this->storage, $name, $limit, TokenBucket\Period::Year, $anchor);
        $used = $quota(5);
        $this->is([5.0, true, 3.0], [$used->peek()->remaining, $used->consume(2), $used->peek()->remaining], '2 of 5');
        $denied = $used->attempt(4);
        $this->is([false, 3.0, true], [$denied->allowed, $denied->remaining, $denied->retryAfter > 300 * 86400], '4 of 3');
        $this->is([true, false, 15.0], [$used->consume(3), $used->consume(), $quota(20)->peek()->remaining], 'the rest, and another limit');
        $used->refund(2);
        $this->is([2.0, true, false], [$used->peek()->remaining, $used->consume(2), $used->consume()], 'refunded');
        $used->reset();
        $this->is([-3.0, 1.0], [$used->charge(8)->remaining, $used->settle(8, 4)->remaining], 'charged and settled');
        $used->refund(1000);
        $this->is([5.0, true, false], [$used->peek()->remaining, $used->block(366 * 86400)->allowed, $used->consume(0)], 'blocked');
        $ends = $used->attempt()->retryAfter;
        $this->is(true, $ends > 600 * 86400 && $ends < 732 * 86400, "it ends with the next window: $ends");
        $used->reset();
        $bucket = $this->bucket($this->name());
        $denied = TokenBucket::attemptAll(['bucket' => $bucket, 'month' => $used], 6);
        $this->is(['month', 10.0, true], [$denied->refusedBy, $bucket->peek()->remaining, TokenBucket::attemptAll([$bucket, $used], 5)->allowed], 'beside a bucket');
    }

    private function reservations(): void
    {
        $bucket = $this->bucket($this->name());
        $delay = fn (TokenBucket\Reservation $reservation) => round($reservation->delay, -2);
        $this->is(0.0, $bucket->reserve(10)->delay, 'tokens that are there');
        $reserved = [$bucket->reserve(1), $bucket->reserve(2), $bucket->reserve(1)];
        $this->is([1000.0, 3000.0, 4000.0], array_map($delay, $reserved), 'in order');
        $late = $bucket->reserve(1, 4500);
        $this->is([false, INF], [$late->decision->allowed, $late->delay], 'too late');
        $reserved[0]->cancel();
        $this->is(5000.0, $delay($last = $bucket->reserve()), 'after a cancellation that others have built on');
        $last->cancel();
        $last->cancel();
        $this->is(5000.0, $delay($bucket->reserve()), 'after a cancellation');
        $name = $this->name();
        [$large, $small] = [$this->bucket($name, 10), $this->bucket($name, 1)];
        $large->consume(10);
        $reserved = $large->reserve(10);
        $this->is(11000.0, $delay($small->reserve()), 'behind a larger quota');
        $reserved->cancel();
        $this->is(12000.0, $delay($small->reserve()), 'a cancel grants no smaller quota two at one instant');
    }

    private function a_first_state_counts_against_the_longest_wait(): void
    {
        $bucket = new StartsWith($this->storage, $this->name(), 10, 0.001);
        $bucket->initial = -5;
        $denied = $bucket->reserve(2, 4000);
        $this->is([false, 'insufficient_tokens', INF, -3.0], [
            $denied->decision->allowed, $denied->decision->reason, $denied->delay, $denied->decision->remaining,
        ], 'too late');
        $this->is(5000.0, round($denied->decision->retryAfter, -2), 'until the tokens are there');
        $this->is('insufficient_tokens', $bucket->wait(4000)->reason, 'wait(), too late');
        $this->is(5000.0, round($bucket->reserve(2, 6000)->delay, -2), 'in time');
    }

    private function refund_and_reset(): void
    {
        $bucket = $this->bucket($this->name());
        $bucket->refund(3);
        $this->is([10.0, true], [$bucket->peek()->remaining, $bucket->consume(10)], 'a refund to a full bucket');
        array_map($bucket->refund(...), [3.5, 0.5, 0]);
        $this->is([4.0, true, false], [$bucket->peek()->remaining, $bucket->consume(4), $bucket->consume()], 'refunded 4');
        $bucket->refund(1e308);
        $this->is([true, false], [$bucket->consume(10), $bucket->consume()], 'refunded to the brim');
        $bucket->reset();
        $this->is([true, false], [$bucket->consume(10), $bucket->consume()], 'reset');
    }

    private function blocks_and_drains(): void
    {
        $bucket = $this->bucket($this->name());
        $this->is(-4.0, $bucket->block(5000)->remaining, 'blocked');
        $this->is([false, 5000.0], [$bucket->consume(0), round($bucket->attempt()->retryAfter, -2)], 'in a block');
        $bucket->block(3000);
        $this->is(5000.0, round($bucket->peek()->retryAfter, -2), 'a shorter block');
        $bucket->block(7000);
        $this->is([7000.0, -6.0], [round($bucket->peek()->retryAfter, -2), $bucket->drain(5)->remaining], 'a longer block, and a drain in it');
        $this->is(7000.0, round($bucket->reserve()->delay, -2), 'a reservation waits for the end of the block');
        $bucket->reset();
        $this->is([10.0, 4.0, 4.0], [$bucket->peek()->remaining, $bucket->drain(4)->remaining, $bucket->drain(10)->remaining], 'drained to 4');
        $this->is([true, false], [$bucket->consume(4), $bucket->consume()], 'drained');
        $small = $this->bucket($this->name(), 0.5);
        $small->block(1000);
        $this->is([false, 1000.0], [$small->consume(0.5), round($small->peek(0.5)->retryAfter, -2)], 'less than a token');
    }

    private function floors(): void
    {
        $bucket = $this->bucket($this->name());
        $this->is([true, 7.0], [($granted = $bucket->attempt(3, 7))->allowed, $granted->remaining], 'all but the floor');
        $denied = $bucket->attempt(1, 7);
        $this->is([false, 'below_floor', 7.0, 1000.0], [
            $denied->allowed, $denied->reason, $denied->remaining, round($denied->retryAfter, -2),
        ], 'below the floor');
        $this->is(['below_floor', 'granted'], [$bucket->peek(1, 7)->reason, $bucket->peek(1, 6)->reason], 'peeks');
        // The time per token is rounded, but a full bucket still grants a call whose floor is the
        // rest of the capacity.
        foreach ([[10, 0.003, 3], [7, 1 / 86400, 1], [2.5, 0.0007, 0.5], [6, 4e9, 2]] as [$capacity, $rate, $tokens]) {
            $this->is(true, $this->bucket($this->name(), $capacity, $rate)->attempt($tokens, $capacity - $tokens)->allowed, "$tokens of $capacity");
        }
        $twice = [[$bucket, 2, 0], [$bucket, 1, 4]];
        $this->is([true, 4.0], [($all = TokenBucket::attemptAll($twice))->allowed, $all->remaining], 'listed twice');
        $this->is('below_floor', TokenBucket::attemptAll($twice)->reason, 'listed twice, again');
        $this->is(['granted', 'below_floor'], array_column(TokenBucket::attemptEach($twice), 'reason'), 'each of both');
        $first = new StartsWith($this->storage, $this->name(), 10, 0.001);
        $first->initial = 3;
        $this->is([false, true], [$first->attempt(1, 4)->allowed, $first->attempt(1, 3)->allowed], 'a bucket that starts with 3');
    }

    private function limits_that_change(): void
    {
        $name = $this->name();
        $this->is([true, false, false], [$this->bucket($name, 10)->consume(10), $this->bucket($name, 100)->consume(), $this->bucket($name, 5)->consume()], 'no windfall');
        $name = $this->name();
        $this->bucket($name, 10)->consume(4);
        $this->is([3.0, 6.0], [$this->bucket($name, 3)->peek()->remaining, $this->bucket($name, 10)->peek()->remaining], 'a smaller capacity');
        $this->is([true, false], [$this->bucket($name, 3)->consume(3), $this->bucket($name, 3)->consume()], 'a smaller capacity is what it says');
    }

    private function identifiers_are_any_bytes(): void
    {
        $identifiers = [
            '', "\0", "\0\0", 'a', "a\0", 'A', 'a ', ' a', "a\n", "a\r\n", 'a b', "\xff", "\xc3\xa4", "\xe4", '0', '00',
            str_repeat('l', 200), str_repeat('l', 249), str_repeat('l', 250), str_repeat('l', 251), str_repeat('l', 70000),
            "flush_all\r\n", '*1', '{a}b', "a\x7f", '0.0', '-0', 'null', "'; DROP TABLE buckets", '*', '%', 'tokenbucket:a',
        ];
        foreach ($identifiers as $number => $identifier) {
            $bucket = $this->bucket($identifier, 100);
            $this->is(100.0, $bucket->peek()->remaining, "identifier $number is fresh");
            $bucket->consume($number + 1);
        }
        foreach ($identifiers as $number => $identifier) {
            $this->is(99.0 - $number, $this->bucket($identifier, 100)->peek()->remaining, "identifier $number");
        }
    }

    private function the_storage_interface(): void
    {
        $this->is(null, $this->is_prepared ? null : $this->storage->prepare(), 'prepare()');
        $name = $this->name();
        $this->is(null, $this->storage->bootstrap($name, microtime(true) - 2500), 'bootstrap()');
        $this->is(2.0, $this->bucket($name)->peek()->remaining, 'bootstrapped with 2');
        $this->storage->bootstrap($name, microtime(true) - 9500);
        $this->is([2.0, true, false], [
            $this->bucket($name)->peek()->remaining, $this->bucket($name)->consume(2), $this->bucket($name)->consume(),
        ], 'never overwritten');
        $this->bucket($name)->reset();
        $this->storage->bootstrap($name, microtime(true) - 1500);
        $this->is(1.0, $this->bucket($name)->peek()->remaining, 'bootstrapped again after a reset');
        $name = $this->name();
        $this->storage->bootstrap($name, microtime(true) + 1500);
        $debt = $this->bucket($name)->peek(0);
        $this->is([false, 1500.0], [$debt->allowed, round($debt->retryAfter, -2)], 'a debt');
        $name = $this->name();
        $asked = 0;
        $start = function () use (&$asked, $name): bool {
            $asked++;
            $this->storage->bootstrap($name, microtime(true) - 3500);
            return true;
        };
        $refused = $this->storage->consume($name, 1000, 10000, fn () => false);
        $this->is(false, $refused, 'a closure that refuses');
        $consume = fn () => $this->storage->consume($name, 1000, 10000, $start);
        // The result of the closure determines the result of the first call, as in the userland
        // class.
        $this->is([true, true, true, true, false, 1], [
            $consume(), $consume(), $consume(), $consume(), $consume(), $asked,
        ], 'consume() with a closure');
        $this->is(false, $this->storage->consume($name, 11000, 10000, fn () => true), 'more than a full bucket');
    }

    private function the_userland_class_shares_the_bucket(): void
    {
        $name = $this->name();
        $native = $this->bucket($name);
        $userland = new UserlandTokenBucket($this->storage, $name, 10, 0.001);
        $this->is([true, true, true, 1.0, false, false, true, false], [
            $userland->consume(2), $native->consume(3), $userland->consume(4), $native->peek()->remaining,
            $userland->consume(2), $native->consume(2), $userland->consume(), $native->consume(),
        ], 'both in one bucket');
    }

    private function all_or_nothing(): void
    {
        [$few, $many] = [$this->bucket($this->name(), 3), $this->bucket($this->name(), 5)];
        $left = fn () => [$few->peek()->remaining, $many->peek()->remaining];
        $all = fn (int|float $tokens, TokenBucket ...$buckets) => TokenBucket::attemptAll($buckets, $tokens);
        $this->is([true, 1.0, 3.0], [($decision = $all(2, $many, $few))->allowed, $decision->remaining, $decision->capacity], 'all');
        $denied = $all(2, $many, $few);
        $this->is([false, 'insufficient_tokens', 3.0, 1.0], [
            $denied->allowed, $denied->reason, $denied->capacity, $denied->remaining,
        ], 'none');
        $this->is([1.0, 3.0], $left(), 'none was taken');
        $again = new TokenBucket($this->storage, 'bucket ' . self::$number, 5, 0.001);
        $this->is([true, false], [$all(1, $many, $again)->allowed, $all(1, $many, $again)->allowed], 'twice pays twice');
        $this->is([1.0, 1.0], $left(), 'left of both');
        $elsewhere = new TokenBucket(new TokenBucketStorageMemory, 'x', 10, 0.001);
        $this->is([true, false], [$all(1, $elsewhere, $few)->allowed, $all(1, $elsewhere, $few)->allowed], 'mixed storages');
        $this->is([0.0, 9.0], [$few->peek()->remaining, $elsewhere->peek()->remaining], 'mixed storages: left');
    }

    private function each_step_decides_alone(): void
    {
        [$empty, $other] = [$this->bucket($this->name(), 1), $this->bucket($this->name(), 5)];
        $empty->consume();
        $other->consume();
        $each = TokenBucket::attemptEach(['one' => [$other, 3], 'two' => $empty, 'three' => [$other, 3]]);
        $this->is(
            ['one' => [true, 1.0], 'two' => [false, 0.0], 'three' => [false, 1.0]],
            array_map(fn ($decision) => [$decision->allowed, $decision->remaining], $each),
            'attemptEach()'
        );
    }

    private function tokens_come_back(): void
    {
        // On a busy machine the bucket may be full again before the second call. Then another
        // bucket is tried.
        for ($try = 0; $try < 1000; $try++) {
            $start = hrtime(true);
            $bucket = $this->bucket($this->name(), 2, 20);
            $bucket->consume(2);
            $denied = $bucket->attempt(2);
            if (hrtime(true) - $start < 100e6) {
                break;
            }
        }
        check(!$denied->allowed && $denied->retryAfter > 0 && $denied->retryAfter <= 0.1, "$this->name: tokens are to come back");
        ($this->pass)($denied->retryAfter);
        $this->is(true, $bucket->consume(2), 'granted after retryAfter');
        $bucket->consume(2);
        $this->is([true, 'granted'], [($waited = $bucket->wait(500, 2))->allowed, $waited->reason], 'wait()');
        $this->is(false, $this->bucket($this->name())->wait(1, 11)->allowed, 'wait() for more than the capacity');
        $slow = $this->bucket($this->name(), 1);
        $slow->consume();
        // A call that waited in vain would take until the test is killed.
        $this->is([false, 'insufficient_tokens'], [($waited = $slow->wait(900))->allowed, $waited->reason], 'wait() in vain');
    }
}
