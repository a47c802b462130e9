--TEST--
The how-to "Which of the denied are real browsers?" counts the pages of Chromium, and not those of curl
--SKIPIF--
<?php
require __DIR__ . '/skip_nginx.inc.php';
require_once __DIR__ . '/../../tools/testkit/php/chromium.php';
if (!Chromium::is_installed() || exec('command -v curl') === '') {
    die('skip chromedriver or curl is missing');
}
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/chromium.php';
require __DIR__ . '/../../tools/testkit/php/nginx.php';
require_once __DIR__ . '/../../tools/testkit/php/wait_for.php';

preg_match_all('/^ +```php\n(.*?)^ +```$/ms', file_get_contents(__DIR__ . '/../../docs/how-to/real-browsers.md'), $blocks);
[$functions, $receiver, $report] = array_map(fn (string $code) => preg_replace('/^   /m', '', $code), $blocks[1]);
$fpm = new Fpm(['www' => ['listen.mode' => '0666']], [
    'tokenbucket.guard' => 'on /category.php all 1/day burst 40 name listing', 'tokenbucket.guard_mode' => 'observe', 'error_log' => '/dev/null',
]);
foreach (['beacon.inc' => $functions, 'beacon' => $receiver, 'report' => $report] as $name => $code) {
    $fpm->script($name, $code);
}
$fpm->script('category', '<?php require __DIR__ . "/beacon.inc.php"; echo "<!doctype html><title>page</title><body>", beacon(), "</body>";');
$nginx = new Nginx($fpm);
$url = "http://127.0.0.1:$nginx->port";
$curl = function (int $count) use ($url, $fpm): string {
    exec("curl --silent --max-time 60 --output " . escapeshellarg("$fpm->folder/curl") . " '$url/category.php?[1-$count]'", $output, $code);
    return "curl: $count requests, code $code\n";
};
$chromium = new Chromium();
$visit = function (int $count) use ($chromium, $url): void {
    for ($i = 0; $i < $count; $i++) {
        $chromium->open("$url/category.php?page=$i");
    }
};
$text = fn (string $path): string => (string) file_get_contents("$url$path");

$visit(10);
echo $curl(300), $text('/report.php');
$visit(20);
// A beacon may come after the page.
wait_for('the last beacon', fn () => str_contains($text('/report.php'), ' 20 of'), 60);
echo $text('/report.php');
// The last page of curl would have been denied. Its report counts once, and only if it is signed.
preg_match('/sendBeacon\("\/beacon.php", (".*")\)/', file_get_contents("$fpm->folder/curl"), $sent);
$sent = json_decode($sent[1]);
foreach ([$sent, $sent, str_replace('listing', 'forgery', $sent), '', '[]', '{"page":[],"mac":[]}', '"page"'] as $body) {
    $context = stream_context_create(['http' => ['method' => 'POST', 'header' => 'Content-Type: text/plain', 'content' => $body, 'ignore_errors' => true]]);
    file_get_contents("$url/beacon.php", false, $context);
    echo explode(' ', $http_response_header[0])[1], ' ';
}
echo $text('/report.php');
?>
--EXPECT--
curl: 300 requests, code 0
listing: 270 denied, 0 of them in browsers (0.0 %)
listing: 290 denied, 20 of them in browsers (6.9 %)
204 204 204 204 204 204 204 listing: 290 denied, 21 of them in browsers (7.2 %)
