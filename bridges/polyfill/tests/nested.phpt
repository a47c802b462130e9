--TEST--
A call inside another, from a destructor or a signal handler, neither loses nor gives away tokens
--FILE--
<?php
require __DIR__ . '/own_clock.php';
require __DIR__ . '/../../../tools/testkit/php/check.php';

use TokenBucket\Polyfill\Quota;
use TokenBucket\Polyfill\Record;
use TokenBucket\Polyfill\Step;

[$folder, $clock] = [new_folder(), new OwnClock];
$home = opened($folder, $clock);
$step = new Step(Quota::SECOND, 10 * Quota::SECOND);

/** Takes a token of x, and calls $inside once after the record was read. */
$take = function (Closure $inside) use ($home, $step): string {
    return $home->store->update($home->key('x'), function (?Record $record, int $now) use ($step, &$inside): array {
        $outcome = $step->decide($record->emptyAt ?? 0, $now);
        $call = $inside;
        $inside = static fn () => null;
        $call();
        return [new Record($outcome->emptyAt, $step->span), $outcome->reason];
    });
};
echo "-- the same bucket --\n";
print_values($take(fn () => take($home, 'x', 4)), tokens_of($home, 'x'));
echo "-- another bucket --\n";
print_values($take(fn () => take($home, 'y', 4)), tokens_of($home, 'x'), tokens_of($home, 'y'));
echo "-- calls that make the file grow --\n";
print_values($take(function () use ($home) {
    for ($i = 0; $i < 2000; $i++) {
        take($home, "many $i", 9);
    }
}), tokens_of($home, 'x'), tokens_of($home, 'many 1999'));
echo "-- a call that resets the bucket --\n";
print_values($take(fn () => $home->reset('x')), tokens_of($home, 'x'));
echo "-- an exception inside releases the lock --\n";
echo thrown(fn () => $take(fn () => throw new DomainException('no'))), "\n";
print_values(tokens_of(opened($folder, $clock), 'x'));
?>
--EXPECT--
-- the same bucket --
'granted' 5.0
-- another bucket --
'granted' 4.0 6.0
-- calls that make the file grow --
'granted' 3.0 1.0
-- a call that resets the bucket --
'granted' 9.0
-- an exception inside releases the lock --
DomainException: no
9.0
