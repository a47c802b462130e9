--TEST--
After a restart of the host, the wall clock tells how long the buckets were refilled
--FILE--
<?php
require __DIR__ . '/own_clock.php';
require __DIR__ . '/../../../tools/testkit/php/check.php';

/** Takes all tokens at 1000 seconds of uptime. Returns the tokens in the bucket at another time. */
$after = function (?float $monotonic, float $wall): float {
    static $number = 0;
    [$folder, $clock] = [$GLOBALS['folder'], new OwnClock];
    $name = 'buckets' . $number++;
    $clock->monotonic = 1_000_000_000_000;
    take(opened($folder, $clock, $name), 'x', 10);
    $clock->monotonic = $monotonic === null ? $clock->monotonic : (int) ($monotonic * 1e9);
    $clock->wall += (int) ($wall * 1e6);
    $home = opened($folder, $clock, $name);
    $tokens = tokens_of($home, 'x');
    // The instant goes on from there.
    $clock->pass(2);
    check(tokens_of(opened($folder, $clock, $name), 'x') === min($tokens + 2, 10.0), "$monotonic $wall goes on");
    return $tokens;
};
$folder = new_folder();
echo "-- no restart: the wall clock does not count --\n";
print_values($after(1003, 3), $after(1003, 3600), $after(1003, -3600), $after(1000, 0));
echo "-- a restart after 4 seconds, a day, and with a wall clock that was set back --\n";
print_values($after(1, 4), $after(20, 86400), $after(1, -3600));
echo "-- a restart that is seen after more than the uptime before it --\n";
print_values($after(1005, 2000));
?>
--EXPECT--
-- no restart: the wall clock does not count --
3.0 3.0 3.0 0.0
-- a restart after 4 seconds, a day, and with a wall clock that was set back --
4.0 10.0 0.0
-- a restart that is seen after more than the uptime before it --
5.0
