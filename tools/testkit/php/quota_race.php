<?php
/** Races of processes around the end of a quota's window. */
require_once __DIR__ . '/testkit.php';

use TokenBucket\Period;
use TokenBucket\Quota;

/**
 * Lets eight processes call a quota while its window ends, and checks that each window grants at
 * most its limit, and exactly its limit if enough calls were made. $connect returns a storage.
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
    check($sum(1) === $limit, "$name: {$sum(1)} grants of $limit after the end: " . json_encode($counts));
    check(array_unique(array_column($counts, 2)) === ['insufficient_tokens'], "$name: " . json_encode($counts));
}
