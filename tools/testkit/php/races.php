<?php
/** Races of eight processes on one storage. $connect returns the storage of a process. */
require_once __DIR__ . '/testkit.php';

use TokenBucket\Lockout;
use TokenBucket\Period;
use TokenBucket\Quota;

/** Checks that exactly $limit calls of all processes are granted, in each way to take a token. */
function check_races(string $name, callable $connect, int $limit, ?int $tries = null): void
{
    check_race("$name: consume()", fn () => (new TokenBucket($connect(), 'one', $limit, 0.0005))->consume(...), $limit, $tries);
    $both = fn () => [new TokenBucket($connect(), 'small', $limit, 0.0005), new TokenBucket($connect(), 'large', 2 * $limit, 0.0005)];
    check_race("$name: attemptAll()", function (int $index) use ($both): callable {
        $buckets = $index % 2 ? $both() : array_reverse($both());
        return fn () => TokenBucket::attemptAll($buckets)->allowed;
    }, $limit, $tries);
    $left = array_map(fn (TokenBucket $bucket) => $bucket->peek()->remaining, $both());
    check($left === [0.0, (float) $limit], "$name: attemptAll() left " . json_encode($left));
    check_race_of_windows($name, $connect, 50);
    // The control: a limiter that reads before it takes grants too much. All processes read before
    // one takes.
    $granted = array_sum(in_processes(8, function (int $index, callable $barrier) use ($connect): int {
        $bucket = new TokenBucket($connect(), 'control', 1, 0.0005);
        $may = $bucket->peek()->allowed;
        $barrier();
        return (int) ($may && $bucket->charge(1)->allowed);
    }));
    check($granted === 8, "$name: the control granted $granted of 1");
}

/** Checks that exactly $limit calls of all processes are granted. $make returns a call. */
function check_race(string $what, callable $make, int $limit, ?int $tries = null): void
{
    // In the first chunks, all processes together try fewer times than there are tokens.
    $granted = granted_in_race($make, $tries ?? intdiv($limit, 4), intdiv($limit, 16));
    check(array_sum($granted) === $limit && min($granted) > 0, "$what granted " . json_encode($granted));
}

/** Checks that guesses get exactly the attempts of a lockout, and that cancels leave no failure. */
function check_races_of_lockouts(string $name, callable $connect): void
{
    $lockout = fn (string $account) => new Lockout($connect(), $account, 7);
    $guesses = fn (callable $may, int $tries) => array_sum(in_processes(8, fn () => count(array_filter(range(1, $tries), $may))));
    $allowed = $guesses(fn () => $lockout('a')->attempt()->allowed, 200);
    check($allowed === 7 && $lockout('a')->peek()->reason === 'locked_out', "$name: $allowed guesses");
    $checked = $guesses(fn () => $lockout('b')->peek()->allowed, 1);
    check($checked > 7, "$name: the control, which checks before it counts: $checked guesses");
    if (isset(TokenBucket\status()['polyfill'])) {
        return;
    }
    foreach (['c' => 7.0, 'd' => 6.0] as $account => $left) {
        // The control: one attempt is not taken back.
        $account === 'd' && $lockout('d')->attempt();
        $in_vain = $guesses(fn () => $lockout($account)->cancel($lockout($account)->attempt()), 10);
        check($in_vain >= 6 && $lockout($account)->peek()->remaining === $left, "$name: $account: $in_vain taken back");
    }
}

/**
 * Lets eight processes call a quota while its window ends, and checks that each window grants at
 * most its limit, and exactly its limit if enough calls were made.
 *
 * The anchor is the second at which the window of an hour ends. The processes begin 50 ms before
 * it, and call until each has seen the next window and has been denied there.
 */
function check_race_of_windows(string $name, callable $connect, int $limit): void
{
    $ends = time() + 3;
    $anchor = new DateTimeImmutable("@$ends");
    $quota = fn (): Quota => new Quota($connect(), "ends at $ends", $limit, Period::Hour, $anchor);
    // The limit is the same in both windows. So all but 20 tokens of the window that ends are taken
    // before the race.
    $first = $quota();
    $left = min(20, $limit);
    $taken = $first->consume($limit - $left);
    $first = null;
    $counts = in_processes(8, function (int $index, callable $barrier) use ($quota, $ends): array {
        $quota = $quota();
        $before = $after = 0;
        $barrier();
        usleep(max(0, (int) (($ends - microtime(true)) * 1e6) - 50_000));
        while (true) {
            $decision = $quota->attempt();
            // The window that ends has seconds left, and the next one has an hour.
            $is_next = $decision->resetAfter > 60;
            if ($decision->allowed) {
                $is_next ? $after++ : $before++;
            } elseif ($is_next) {
                return [$before, $after, $decision->reason];
            } else {
                usleep(200);
            }
        }
    });
    $sum = fn (int $place): int => array_sum(array_column($counts, $place));
    if ($taken) {
        // There are fewer grants if a slow machine starts the race only after the end of the
        // window.
        check($sum(0) <= $left, "$name: {$sum(0)} grants of $left before the end");
    }
    // On MySQL, a second statement reads the clock and the state. If another call has taken from
    // the next window since the first statement, the decision describes that window.
    $late = $name === 'mysql' ? max(0, $left - $sum(0)) : 0;
    check($sum(1) >= $limit && $sum(1) <= $limit + $late, "$name: {$sum(1)} grants of $limit after the end: " . json_encode($counts));
    check(array_unique(array_column($counts, 2)) === ['insufficient_tokens'], "$name: " . json_encode($counts));
}
