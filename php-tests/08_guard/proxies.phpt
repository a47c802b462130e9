--TEST--
The guard: a client cannot choose the address that is counted
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

/** Returns a php-fpm with a limit of 5 requests from each address. */
function guarded(string $trusted): array
{
    $fpm = new Fpm(ini: ['tokenbucket.guard' => 'ip 1/day burst 5', 'tokenbucket.guard_trusted_proxies' => $trusted]);
    return [$fpm, $fpm->script('script', SCRIPT)];
}

/** Sends $count requests from each of four clients, and returns the statuses with their numbers. */
function flood(Fpm $fpm, string $script, int $count, callable $variables): string
{
    $counts = [];
    $of_clients = in_processes(4, function (int $index) use ($fpm, $script, $count, $variables) {
        mt_srand($index);
        $statuses = array_map(fn () => $fpm->request($script, $variables())['status'] ?? 'lost', range(1, $count));
        return array_count_values($statuses);
    });
    foreach ($of_clients as $of_client) {
        foreach ($of_client as $status => $number) {
            $counts[$status] = ($counts[$status] ?? 0) + $number;
        }
    }
    ksort($counts);
    return json_encode($counts);
}

$any_address = fn () => implode('.', array_map(fn () => mt_rand(0, 255), range(1, 4)));
$header = fn (string $forwarded) => ['REMOTE_ADDR' => '10.0.0.1', 'HTTP_X_FORWARDED_FOR' => $forwarded];

echo "-- without trusted proxies the header is ignored --\n";
[$fpm, $script] = guarded('');
echo flood($fpm, $script, 50, fn () => $header($any_address())), "\n";

echo "-- behind a trusted proxy --\n";
$fpm->stop();
[$fpm, $script] = guarded('10.0.0.0/8');
echo 'addresses of the client: ', flood($fpm, $script, 50, fn () => $header($any_address() . ', ' . $any_address() . ', 203.0.113.1')), "\n";
echo 'a peer that is no proxy: ', flood($fpm, $script, 50, fn () => ['REMOTE_ADDR' => '203.0.113.2'] + $header($any_address())), "\n";
echo '10,000 addresses of a /64: ', flood($fpm, $script, 2500, fn () => $header('2001:db8:1:2:' . implode(':', array_map(fn () => dechex(mt_rand(0, 65535)), range(1, 4))))), "\n";
$lists = [
    '203.0.113.4 203.0.113.5', '203.0.113.999', '0x0a.1.1.1', 'unknown', '_hidden',
    '[203.0.113.4]', '203.0.113.4:x', '2001:db8::%1', '2001:db8:::1', "\xff\x01", '203.0.113.4;', '"203.0.113.4"',
    'for=203.0.113.4', "203.0.113.4\t203.0.113.5", str_repeat('1', 60_000), str_repeat('10.0.0.2 ', 7_000),
];
echo 'malformed lists: ', flood($fpm, $script, 50, fn () => $header($any_address() . ', ' . $lists[array_rand($lists)])), "\n";
$empty = ['203.0.113.6,', ', ,203.0.113.6', '203.0.113.6' . str_repeat(',', 60_000)];
echo 'empty elements: ', flood($fpm, $script, 50, fn () => $header($any_address() . ', ' . $empty[array_rand($empty)])), "\n";
echo 'headers of 64 kB: ', flood($fpm, $script, 50, fn () => $header(str_repeat($any_address() . ', ', 3_500) . '203.0.113.3')), "\n";
echo 'trusted addresses only: ', flood($fpm, $script, 5, fn () => $header(str_repeat('10.0.0.7,', 6_999) . '10.0.0.7')), "\n";
echo "-- control: the addresses of different clients --\n";
echo flood($fpm, $script, 50, fn () => $header($any_address())), "\n";
?>
--EXPECT--
-- without trusted proxies the header is ignored --
{"200":5,"429":195}
-- behind a trusted proxy --
addresses of the client: {"200":5,"429":195}
a peer that is no proxy: {"200":5,"429":195}
10,000 addresses of a /64: {"200":5,"429":9995}
malformed lists: {"200":5,"429":195}
empty elements: {"200":5,"429":195}
headers of 64 kB: {"200":5,"429":195}
trusted addresses only: {"200":5,"429":15}
-- control: the addresses of different clients --
{"200":200}
