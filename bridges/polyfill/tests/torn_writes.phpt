--TEST--
A write that ends at any byte changes nothing, and later calls go on
--FILE--
<?php
require __DIR__ . '/own_clock.php';

$clock = new OwnClock;
$folder = new_folder();
$file = "$folder/buckets";

/** Returns the first and the last place at which two texts differ. */
function difference(string $before, string $after): array
{
    $length = max(strlen($before), strlen($after));
    [$a, $b] = [str_pad($before, $length, "\0"), str_pad($after, $length, "\0")];
    $xor = $a ^ $b;
    return [strspn($xor, "\0"), strlen(rtrim($xor, "\0"))];
}

/**
 * Runs $write on the file, and then on copies whose write ends earlier. $state reads a state. The
 * state must be the old one until the last byte that differs is written. $areas are written in this
 * order.
 */
function tear(string $title, callable $write, callable $state, ?array $areas = null): void
{
    global $file, $folder, $clock;
    $before = (string) @file_get_contents($file);
    $old = $state(opened($folder, $clock));
    file_put_contents($file, $before);
    $write(opened($folder, $clock));
    $after = file_get_contents($file);
    $new = $state(opened($folder, $clock));
    $torn = str_pad($before, strlen($after), "\0");
    $places = 0;
    foreach ($areas ?? [difference($before, $after)] as [$first, $end]) {
        // In a long area, the write ends at fewer places.
        $step = $end - $first > 1000 ? 10_007 : 1;
        for ($length = $first; $length < $end; $length += $step, $places++) {
            file_put_contents($file, substr($torn, 0, $first) . substr($after, $first, $length - $first) . substr($torn, $length));
            $home = opened($folder, $clock);
            check($state($home) === $old, "$title, $length of $first to $end");
            // A retry of the write succeeds.
            $write($home);
            check($state(opened($folder, $clock)) === $new, "$title, written again at $length");
        }
        $torn = substr_replace($torn, substr($after, $first, $end - $first), $first, $end - $first);
    }
    check($torn === $after, "$title: other areas were written");
    file_put_contents($file, $after);
    echo "$title: ", json_encode($old), ' or ', json_encode($new), $places > 8 ? '' : ", only $places places", "\n";
}

require __DIR__ . '/../../../tools/testkit/php/check.php';
$a = fn ($home) => tokens_of($home, 'a');
take(opened($folder, $clock), 'a');
tear('the second copy', fn ($home) => take($home, 'a', 2), $a);
tear('the first copy', fn ($home) => take($home, 'a', 3), $a);
tear('another bucket', fn ($home) => take($home, 'b', 4), fn ($home) => [$a($home), tokens_of($home, 'b')]);
tear('a reset', fn ($home) => $home->reset('b'), fn ($home) => [$a($home), tokens_of($home, 'b')]);

echo "-- the file is new --\n";
unlink($file);
$clock = new OwnClock;
file_put_contents($file, '');
opened($folder, $clock)->store->now();
$whole = file_get_contents($file);
for ($length = 0; $length < 4096; $length += $length < 300 ? 1 : 97) {
    file_put_contents($file, substr($whole, 0, $length));
    check(take(opened($folder, $clock), 'a')->isGranted() && tokens_of(opened($folder, $clock), 'a') === 9.0, "new file of $length bytes");
}
echo "-- the header --\n";
take(opened($folder, $clock), 'h');
$clock->pass(3);
tear('the instant in the header', fn ($home) => $home->store->now(), fn ($home) => tokens_of($home, 'a'));

echo "-- new pages --\n";
$number = 0;
do {
    $before = file_get_contents($file);
    take(opened($folder, $clock), 'bucket ' . $number++, 9);
} while (strlen(file_get_contents($file)) === strlen($before));
$last = $number - 1;
$all = function ($home) use ($last) {
    for ($sum = 0.0, $i = 0; $i < $last; $i++) {
        $sum += tokens_of($home, "bucket $i");
    }
    return [$sum - $last, tokens_of($home, "bucket $last")];
};
$size = strlen(file_get_contents($file));
file_put_contents($file, $before);
tear('the bucket with which the file grows', fn ($home) => take($home, "bucket $last", 9), $all, [[strlen($before), $size], [0, TokenBucket\Polyfill\Header::SIZE]]);
?>
--EXPECT--
the second copy: 9 or 7
the first copy: 7 or 4
another bucket: [4,10] or [4,6]
a reset: [4,6] or [4,10]
-- the file is new --
-- the header --
the instant in the header: 10 or 10
-- new pages --
the bucket with which the file grows: [0,10] or [0,1]
