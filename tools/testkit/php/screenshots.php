<?php
/**
 * Makes docs/images/status-*.png from examples/status.php under load, in half a minute:
 *
 *     php -n -d extension=posix -d extension=modules/tokenbucket.so \
 *         tools/testkit/php/screenshots.php
 */
require __DIR__ . '/../../../php-tests/09_status_page/site.inc.php';
require __DIR__ . '/chromium.php';

putenv('TEST_PHP_EXTRA_ARGS=-n -d extension=' . escapeshellarg(realpath(__DIR__ . '/../../../modules/tokenbucket.so')));
$site = new Site(['tokenbucket.track_identifiers' => '1', 'tokenbucket.shm_size' => '1M']);
$url = $site->open_page(['SHOW_IDENTIFIERS = false' => 'SHOW_IDENTIFIERS = true', 'SAMPLE = 1' => 'SAMPLE = 2']);
$site->script('outage', <<<'PHP'
    <?php
    $storage = new TokenBucketStorageRedis('redis://127.0.0.1:1', 'sessions', onFailure: TokenBucket\OnFailure::Local);
    (new TokenBucket($storage, 'all', 1e9, 1))->consume();
    PHP);
$browser = new Chromium();
$load = pcntl_fork();
while ($load === 0) {
    for ($i = 0; $i < 6; $i++) {
        $site->take(1, '2001:db8::' . dechex(random_int(1, 20_000)), 'api');
    }
    $site->take(2, '198.51.100.' . min(random_int(1, 9), random_int(1, 9)), 'login');
    $site->get('outage');
    usleep(50_000);
}
sleep(15);
foreach (['light', 'dark'] as $scheme) {
    $browser->show_as(980, $scheme);
    $browser->open($url);
    file_put_contents(__DIR__ . "/../../../docs/images/status-$scheme.png", $browser->screenshot(980, 920));
}
posix_kill($load, SIGKILL);
