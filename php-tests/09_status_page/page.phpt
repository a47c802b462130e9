--TEST--
The status page shows the numbers of status() and their growth
--SKIPIF--
<?php require __DIR__ . '/../08_guard/skip_nginx.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/site.inc.php';
require __DIR__ . '/cells.inc.php';

// The guard counts only requests for /guarded, so the page changes no number that it shows.
const GUARD = 'on /guarded all concurrent 900; on /guarded ip 1/day block 1 day';
$site = new Site(['tokenbucket.track_identifiers' => '1', 'tokenbucket.shm_size' => '64K', 'tokenbucket.guard' => GUARD]);
$site->open_page();
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
$page = $site->get('status')[2];
foreach (differences($site->status(), $page) as $difference) {
    check(false, $difference);
}
check(!str_contains($page, 'rising"'), 'no counter grows');
check(str_contains($page, 'The guard is in force.'), 'the guard is in force');
check(!str_contains(part($page, 'identifiers'), '192.0.2.1'), 'hashes instead of identifiers');
check(preg_match('/^[0-9a-f]{12}$/', cells($page, 'identifiers')[0][0]) === 1, 'a hash has twelve digits');
check(str_contains($page, '<meta http-equiv="refresh" content="5">') && !str_contains($site->get('status?still')[2], 'http-equiv'), 'reloads, unless it pauses');
$site->open_page(['SHOW_IDENTIFIERS = false' => 'SHOW_IDENTIFIERS = true']);
check(cells($site->get('status')[2], 'identifiers')[0] === ['192.0.2.1', 'login shared memory', number_format($site->status()['most_denied'][0]['denied'])], 'identifiers, if the page allows that');

// A denial and a call without its store happen within a quarter of a second.
$events = '(new \TokenBucket(new \TokenBucketStorageSharedMemory("login"), "192.0.2.1", 5, 0.001))->consume(); include "outage.php";';
$site->open_page(['usleep((int) (1e6 * SAMPLE));' => $events, '(hrtime(true) - $start) / 1e9' => '0.25']);
$page = $site->get('status')[2];
check(str_contains(part($page, 'now'), '<p class="value">4.00<small>/s now</small>'), 'denied now');
check(array_slice(array_values(array_filter(cells($page, 'namespaces'), fn (array $row) => $row[0] === 'login shared memory'))[0], 1, 2) === ['0', '4.00'], 'of the namespace');
check(str_contains(part($page, 'warnings'), 'pace rising">4.00/s now'), 'a warning whose counter grows');
check(!preg_match('/Warning|Notice|Deprecated|Fatal/', $site->log()), $site->log());
echo "Done.\n";
?>
--EXPECT--
Done.
