<?php
/**
 * Makes docs/images/status-*.png from examples/status.php under a varying load. This takes a
 * minute:
 *
 *     php -n -d extension=$PWD/modules/tokenbucket.so tools/testkit/php/screenshots.php
 */
require __DIR__ . '/../../../php-tests/09_status_page/site.inc.php';
require __DIR__ . '/chromium.php';

const SECONDS = 58;

putenv('TEST_PHP_EXTRA_ARGS=-n -d extension=' . escapeshellarg(realpath(__DIR__ . '/../../../modules/tokenbucket.so')));
$site = new Site(['tokenbucket.track_identifiers' => '1', 'tokenbucket.shm_size' => '1M']);
$url = $site->open_page(['SHOW_IDENTIFIERS = false' => 'SHOW_IDENTIFIERS = true', 'INTERVAL = 2' => 'INTERVAL = 0.5']);
$site->script('outage', <<<'PHP'
    <?php
    $storage = new TokenBucketStorageRedis('redis://127.0.0.1:1', 'sessions', onFailure: TokenBucket\OnFailure::Local);
    (new TokenBucket($storage, 'all', 1e9, 1))->consume();
    PHP);
$browser = new Chromium();
$browser->show_as(980, 'light');
$browser->open($url);
/** Sends the requests of a tenth of a second. */
$load = function (float $second) use ($site): void {
    $end = microtime(true) + 0.1;
    $addresses = 6 + 4 * sin($second / 5);
    for ($i = 0; $i < $addresses; $i++) {
        $site->take(1, '2001:db8::' . dechex(random_int(1, 20_000)), 'api');
    }
    $site->take(($second > 40 ? 16 : 2) + random_int(0, 3), '198.51.100.' . min(random_int(1, 9), random_int(1, 9)), 'login');
    if ($second > 50) {
        $site->get('outage');
    }
    usleep((int) max(0, 1e6 * ($end - microtime(true))));
};
for ($second = 0.0; $second < SECONDS; $second += 0.1) {
    $load($second);
}
foreach (['light' => [980, 'light'], 'dark' => [980, 'dark']] as $name => [$width, $scheme]) {
    $browser->show_as($width, $scheme);
    for ($i = 0; $i < 15; $i++) {
        $load($second);
    }
    file_put_contents(__DIR__ . "/../../../docs/images/status-$name.png", $browser->screenshot($width, 920));
}
