--TEST--
In Chromium: the status page is right while the pool serves requests, with one small reply an update
--SKIPIF--
<?php require __DIR__ . '/skipif_chromium.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/site.inc.php';
require __DIR__ . '/dom.inc.php';
require __DIR__ . '/../../tools/testkit/php/chromium.php';

const CLIENTS = 4;
/** The number of changes of the page during which the clients send requests. */
const CHANGES = 8;

/** Sends requests until the file is removed. Returns the numbers of grants and denials. */
function send(Site $site, string $running): array
{
    for ($replies = ''; file_exists($running); clearstatcache()) {
        $replies .= $site->get('limited?id=' . random_int(1, 200))[2];
    }
    return [substr_count($replies, '+'), substr_count($replies, '-')];
}

/** Returns the numbers of grants and denials that the page shows, as often as they change. */
function watch(Chromium $browser, string $running): array
{
    $shown = [];
    for ($end = microtime(true) + 60; count($shown) < CHANGES && microtime(true) < $end; usleep(100_000)) {
        $numbers = $browser->run('return [...document.querySelectorAll("#now .tile p:last-child")].slice(0, 2).map(p => +p.textContent.replace(/\D/g, ""))');
        if ($numbers !== end($shown)) {
            $shown[] = $numbers;
        }
    }
    unlink($running);
    return $shown;
}

$site = new Site();
$browser = new Chromium();
$browser->open($site->open_page(['INTERVAL = 2' => 'INTERVAL = 0.5', 'kept = 120' => 'kept = 10000']));
$browser->run('performance.setResourceTimingBufferSize(10000)');
$browser->wait_for('samples.length > 0');
$running = tempnam(sys_get_temp_dir(), 'tokenbucket-watched-');
$results = in_processes(CLIENTS + 1, fn (int $index) => $index === CLIENTS ? watch($browser, $running) : send($site, $running));
$shown = array_pop($results);

$sorted = $shown;
sort($sorted);
check(count($shown) === CHANGES && $shown === $sorted && end($shown)[1] > $shown[0][1], 'the numbers rise: ' . json_encode($shown));

// After the last update, the page shows the totals that the clients counted.
$total = array_map(fn (int $column) => array_sum(array_column($results, $column)), [0, 1]);
$text = array_map(fn (int $count) => number_format($count) . ' since the start', $total);
$browser->wait_for(sprintf('document.querySelector("#now").innerText.includes("%s") && document.querySelector("#now").innerText.includes("%s")', ...$text));
// So do its rates, multiplied by the seconds between updates.
$counted = counts_of_samples($browser);
check($counted === $total, 'by the rates: ' . json_encode($counted) . ', at the clients: ' . json_encode($total));
[$updates, $bytes] = $browser->run(<<<'JS'
    clearTimeout(timer);
    const replies = performance.getEntriesByType('resource').filter(it => it.name.endsWith('?json'));
    return [replies.length - samples.length, replies.map(it => it.decodedBodySize)];
    JS);
// The browser may list the last reply before the page shows it, so there may be one more.
check($updates === 0 || $updates === 1, "$updates more replies than updates");
check(max($bytes) < 20_000, 'bytes of the replies: ' . json_encode(array_unique($bytes)));
check($browser->console() === [], 'the console is empty');
echo "Done.\n";
?>
--EXPECT--
Done.
