--TEST--
The guard: Apache's mod_php counts by the header Authorization, also without CGIPassAuth
--SKIPIF--
<?php require __DIR__ . '/skip_apache.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/apache.php';
require __DIR__ . '/../../tools/testkit/php/http.php';

foreach (['off' => [], 'on' => ['CGIPassAuth' => 'On']] as $how => $directives) {
    foreach (['Authorization', 'Proxy-Authorization'] as $name) {
        $apache = new Apache(directives: ['<Location />' => '', ...$directives, '</Location>' => ''], ini: ['tokenbucket.guard' => "header:$name 1/day"]);
        $script = $apache->script('script', '<?php echo "script";');
        $lines = [["$name: Bearer one"], ["$name: Bearer one"], [strtolower($name) . ': Bearer two'], ["$name: Basic YTpi"], ["$name: Basic YTpi"], [], []];
        $statuses = array_map(fn (array $lines) => http_request($apache->port, $script, $lines)[0] ?? 'lost', $lines);
        echo "CGIPassAuth $how, $name: ", implode(' ', $statuses), "\n";
        $apache->kill();
    }
}
// Nothing else reads the header, so all requests share a bucket.
$apache = new Apache(ini: ['disable_functions' => 'apache_request_headers', 'tokenbucket.guard' => 'header:Authorization 1/day burst 2']);
$script = $apache->script('script', '<?php echo "script";');
echo 'disabled function:';
foreach (['one', 'two', 'three'] as $token) {
    echo ' ', trim(implode(' ', http_request($apache->port, $script, ["Authorization: Bearer $token"]) ?? ['lost']));
}
echo "\n";
?>
--EXPECT--
CGIPassAuth off, Authorization: 200 429 200 200 429 200 429
CGIPassAuth off, Proxy-Authorization: 200 429 200 200 429 200 429
CGIPassAuth on, Authorization: 200 429 200 200 429 200 429
CGIPassAuth on, Proxy-Authorization: 200 429 200 200 429 200 429
disabled function: 200 script 200 script 429 Too many requests.
