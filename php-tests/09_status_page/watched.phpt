--TEST--
In Chromium: the status page is quick and right while the pool serves 500 requests a second
--SKIPIF--
<?php require __DIR__ . '/skipif_chromium.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/site.inc.php';
require __DIR__ . '/dom.inc.php';
require __DIR__ . '/../../testkit/php/chromium.php';

const A_SECOND = 500;
const SECONDS = 5;
const CLIENTS = 4;

/** Sends requests at an even pace. Returns the numbers of grants and denials, and the seconds. */
function send(Site $site): array
{
    $replies = '';
    $start = microtime(true);
    for ($sent = 1; $sent <= SECONDS * A_SECOND / CLIENTS; $sent++) {
        $replies .= $site->get('limited?id=' . random_int(1, 200))[2];
        usleep((int) max(0, 1e6 * ($start + $sent * CLIENTS / A_SECOND - microtime(true))));
    }
    return [substr_count($replies, '+'), substr_count($replies, '-'), microtime(true) - $start];
}

/** Returns the numbers of grants and denials that the page shows, as often as they change. */
function watch(Chromium $browser): array
{
    $shown = [];
    for ($end = microtime(true) + SECONDS; microtime(true) < $end; usleep(200_000)) {
        $shown[] = $browser->run('return [...document.querySelectorAll("#now .tile p:last-child")].slice(0, 2).map(p => p.textContent.replace(/\D/g, "")).join(" ")');
    }
    return array_values(array_unique($shown));
}

$site = new Site();
$browser = new Chromium();
$browser->open($site->open_page(['INTERVAL = 2' => 'INTERVAL = 0.5']));
$results = in_processes(CLIENTS + 1, fn (int $index) => $index === CLIENTS ? watch($browser) : send($site));
$shown = array_map(fn (string $numbers) => array_map(intval(...), explode(' ', $numbers)), array_pop($results));
$speed = array_sum(array_map(fn (array $result) => ($result[0] + $result[1]) / $result[2], $results));

$sorted = $shown;
sort($sorted);
check(count($shown) >= 5 && $shown === $sorted && end($shown)[1] > $shown[0][1], 'the numbers rise: ' . json_encode($shown));
// Samples of the first and last half second contain the start and the end of the traffic.
$rates = array_slice($browser->run('return samples.map(sample => sample.granted + sample.denied).filter(rate => rate > 0)'), 1, -1);
$rate = array_sum($rates) / max(1, count($rates));
check(abs($rate - $speed) < 0.2 * $speed, "the page shows $rate calls per second, the clients sent $speed");
$times = $browser->run('return performance.getEntriesByType("resource").filter(it => it.name.endsWith("?json")).map(it => it.duration)');
sort($times);
check(count($times) >= 5 && $times[intdiv(count($times), 2)] < 250, 'milliseconds of the updates: ' . json_encode($times));

// After the last update the page has the counts of the clients.
$total = array_map(fn (int $column) => number_format(array_sum(array_column($results, $column))) . ' since the start', [0, 1]);
$browser->wait_for(sprintf('document.querySelector("#now").innerText.includes("%s") && document.querySelector("#now").innerText.includes("%s")', ...$total));
check(array_sum(array_column($results, 0)) + array_sum(array_column($results, 1)) === SECONDS * A_SECOND, 'each request got a reply');
check($browser->console() === [], 'the console is empty');
echo "Done.\n";
?>
--EXPECT--
Done.
