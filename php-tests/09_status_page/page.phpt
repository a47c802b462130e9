--TEST--
In Chromium: the status page shows the numbers of status() and their growth, in each layout
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
$url = $site->open_page(['INTERVAL = 5' => 'INTERVAL = 600']);
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
$browser->show_as(1_200, 'light');
$browser->open($url);
foreach (differences($site->status(), $browser) as $difference) {
    check(false, $difference);
}
check($browser->run('return document.querySelector("#warnings .rising") === null'), 'no counter grows');
foreach ([1_200, 360] as $width) {
    foreach (['light', 'dark'] as $scheme) {
        $browser->show_as($width, $scheme);
        foreach (layout_faults($browser, $width, $scheme) as $fault) {
            check(false, "$scheme, $width px: $fault");
        }
    }
}
check(str_contains($browser->text('body'), 'The guard is in force.'), 'the guard is in force');
check(!str_contains($browser->text('#identifiers'), '192.0.2.1'), 'hashes instead of identifiers');
check(preg_match('/^[0-9a-f]{12}$/', cells($browser, '#identifiers')[0][0]) === 1, 'a hash has twelve digits');
$browser->open($site->open_page(['SHOW_IDENTIFIERS = false' => 'SHOW_IDENTIFIERS = true']) . '?still');
check(cells($browser, '#identifiers')[0] === ['192.0.2.1', 'login shared memory', number_format($site->status()['most_denied'][0]['denied'])], 'identifiers, if the page allows that');
check($browser->run('return document.querySelector("meta[http-equiv=refresh]") === null'), 'the page that pauses does not reload');

// Two denials and a call without its store happen within a quarter of a second.
$events = '(new \TokenBucket(new \TokenBucketStorageSharedMemory("login"), "192.0.2.1", 5, 0.001))->consume(); include "outage.php";';
$browser->show_as(1_200, 'light');
$browser->open($site->open_page(['usleep((int) (1e6 * SAMPLE));' => $events, '(hrtime(true) - $start) / 1e9' => '0.25']));
check($browser->run('return [...document.querySelectorAll("#now .value")].map(value => value.innerText)')[1] === "4.00/s now", 'denied now');
check(array_slice(array_values(array_filter(cells($browser, '#namespaces'), fn (array $row) => $row[0] === 'login shared memory'))[0], 1, 2) === ['0', '4.00'], 'of the namespace');
check($browser->run('return document.querySelector("#warnings .rising").innerText') === '4.00/s now', 'a warning whose counter grows');
check($browser->run('return document.querySelector("meta[http-equiv=refresh]").content') === '5', 'the page reloads');
check($browser->console() === [], 'the console is empty');
check(!preg_match('/Warning|Notice|Deprecated|Fatal/', $site->log()), $site->log());
echo "Done.\n";
?>
--EXPECT--
Done.
