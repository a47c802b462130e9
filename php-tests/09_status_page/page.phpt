--TEST--
In Chromium: the status page shows the numbers of status(), with and without scripts, in each layout
--SKIPIF--
<?php require __DIR__ . '/skipif_chromium.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/site.inc.php';
require __DIR__ . '/dom.inc.php';
require __DIR__ . '/../../tools/testkit/php/chromium.php';

// The guard counts only requests for /guarded, so the page changes no number that it shows.
const GUARD = 'on /guarded all concurrent 900; on /guarded ip 1/day block 1 day';
$site = new Site(['tokenbucket.track_identifiers' => '1', 'tokenbucket.shm_size' => '64K', 'tokenbucket.guard' => GUARD]);
// The page does not update itself until a part of the test that waits for updates.
$rarely = ['INTERVAL = 2' => 'INTERVAL = 600'];
$url = $site->open_page($rarely);
$shows_all = $site->page('shows_all', ['ALLOWED_ADDRESSES = []' => "ALLOWED_ADDRESSES = ['127.0.0.1']", ...$rarely, 'SHOW_IDENTIFIERS = false' => 'SHOW_IDENTIFIERS = true']);
$site->script('outage', <<<'PHP'
    <?php
    $storage = new TokenBucketStorageRedis('redis://127.0.0.1:1', 'sessions:', onFailure: TokenBucket\OnFailure::Local);
    (new TokenBucket($storage, 'x', 5, 0.001))->consume();
    PHP);
$site->take(1_507, '192.0.2.1');
$site->take(30, '192.0.2.2', 'search');
for ($i = 0; $i < 4; $i++) {
    $site->get('outage');
}
$site->script('guarded', '<?php echo "guarded";');
for ($i = 0; $i < 3; $i++) {
    $site->get('guarded');
}
$browser = new Chromium();

/** Compares the page with status(). */
$compare = function (string $what) use ($site, $browser): void {
    $status = $site->status();
    foreach (differences($status, $browser) as $difference) {
        check(false, "$what: $difference");
    }
};
foreach ([true, false] as $scripts) {
    $what = $scripts ? 'with scripts' : 'without scripts';
    $browser->use_scripts($scripts);
    $browser->show_as(1_200, 'light');
    $browser->open($url);
    $compare($what);
    check($browser->run('return !!document.querySelector("#pause[hidden]")') === !$scripts, "$what: the button to pause");
    check(($browser->run('return document.querySelectorAll("noscript meta[http-equiv=refresh]").length') === 1) === !$scripts, "$what: refreshes by a header");
    check(str_contains($browser->text('#now'), 'on average'), "$what: averages at first");
    foreach ([1_200, 360] as $width) {
        foreach (['light', 'dark'] as $scheme) {
            $browser->show_as($width, $scheme);
            foreach (layout_faults($browser, $width, $scheme) as $fault) {
                check(false, "$what, $scheme, $width px: $fault");
            }
        }
    }
}
check(str_contains($browser->text('body'), 'The guard is in force.'), 'the guard is in force');
check(!str_contains($browser->text('#identifiers'), '192.0.2.1'), 'hashes instead of identifiers');
check(preg_match('/^[0-9a-f]{12}$/', cells($browser, '#identifiers')[0][0]) === 1, 'a hash has twelve digits');
$browser->open($shows_all);
check(cells($browser, '#identifiers')[0] === ['192.0.2.1', 'login shared memory', number_format($site->status()['most_denied'][0]['denied'])], 'identifiers, if the page allows that');

// The page updates itself, pauses, and reports that it cannot reach the server.
$quick = ['INTERVAL = 2' => 'INTERVAL = 0.5'];
$browser->use_scripts(true);
$browser->show_as(1_200, 'light');
$browser->open($site->open_page($quick));
$browser->wait_for('samples.length > 0');
$site->take(100, '192.0.2.1');
$browser->wait_for('document.querySelector("#now .denied").innerText.includes("1,629 since the start")');
$compare('after an update');
check(!str_contains($browser->text('#now'), 'on average'), 'rates of the present');
[, $denied] = counts_of_samples($browser);
check($denied === 100, "denied since the first update, by the rates: $denied");
check($browser->run('return document.querySelector("#now .denied .value span").textContent === rate(samples.at(-1).denied)'), 'the rate of the last update');
check(str_contains($browser->run('return document.querySelector("#chart").ariaLabel'), 'Highest: '), 'the chart has a label');
check($browser->run('return document.querySelectorAll("#chart path[d^=M]").length') === 2, 'the chart has two lines');
$browser->run('document.querySelector("#pause").click()');
$before = $browser->text('#header time');
$site->take(10, '192.0.2.1');
usleep(1_200_000);
check($browser->text('#header time') === $before, 'paused');
$browser->run('document.querySelector("#pause").click()');
$browser->wait_for('document.querySelector("#now .denied").innerText.includes("1,639 since the start")');
$messages = $browser->console();
check($messages === [], 'the console has ' . json_encode($messages));
$site->page('status', []);
$browser->wait_for('!document.querySelector("#lost").hidden');
check(str_contains($browser->text('#lost'), 'No update: the reply is 403'), $browser->text('#lost'));
$site->open_page($quick);
$browser->wait_for('document.querySelector("#lost").hidden');
check(!preg_match('/Warning|Notice|Deprecated|Fatal/', $site->log()), $site->log());
echo "Done.\n";
?>
--EXPECT--
Done.
