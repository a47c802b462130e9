<?php
/**
 * Measures how long updates of the status page take in Chromium, while four clients send 500
 * requests a second.
 */
require __DIR__ . '/../../php-tests/09_status_page/site.inc.php';
require __DIR__ . '/../testkit/php/chromium.php';

const CLIENTS = 4;
const A_SECOND = 500;
const SECONDS = 10;
/** The longest median in milliseconds. */
const TARGET = 250;

$site = new Site();
$browser = new Chromium();
$browser->open($site->open_page(['INTERVAL = 2' => 'INTERVAL = 0.5']));
in_processes(CLIENTS, function () use ($site): void {
    $start = microtime(true);
    for ($sent = 1; $sent <= SECONDS * A_SECOND / CLIENTS; $sent++) {
        $site->get('limited?id=' . random_int(1, 200));
        usleep((int) max(0, 1e6 * ($start + $sent * CLIENTS / A_SECOND - microtime(true))));
    }
});
$times = $browser->run('return performance.getEntriesByType("resource").filter(it => it.name.endsWith("?json")).map(it => it.duration)');
sort($times);
$median = $times[intdiv(count($times), 2)];
printf("%d updates, median %.0f ms, longest %.0f ms, target %d ms%s\n", count($times), $median, end($times), TARGET, $median > TARGET ? ': missed' : '');
