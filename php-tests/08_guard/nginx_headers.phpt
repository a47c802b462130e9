--TEST--
The guard: header lines that nginx passes twice, renames or drops do not change the client
--SKIPIF--
<?php require __DIR__ . '/skip_nginx.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/http.php';
require __DIR__ . '/../../tools/testkit/php/nginx.php';

$fpm = new Fpm(['www' => ['listen.mode' => '0666']], ['tokenbucket.guard' => 'ip+path 1/day burst 3', 'tokenbucket.guard_trusted_proxies' => '127.0.0.1']);
$fpm->script('script', '<?php echo "script";');
$nginx = new Nginx($fpm);
/** Sends requests, to which $lines adds header lines, and prints their statuses. */
$requests = function (string $what, callable $lines) use ($nginx): void {
    $statuses = [];
    for ($i = 0; $i < 5; $i++) {
        $statuses[] = http_request($nginx->port, '/script', $lines($i))[0] ?? 'lost';
    }
    echo "$what: ", implode(' ', $statuses), "\n";
};
$requests('one line', fn () => ['X-Forwarded-For: 203.0.113.1']);
$requests('two lines', fn (int $i) => ["X-Forwarded-For: 198.51.100.$i", 'X-Forwarded-For: 203.0.113.2']);
$requests('an underscore', fn (int $i) => ["X_Forwarded_For: 198.51.100.$i", 'X-Forwarded-For: 203.0.113.3', "X_Forwarded_For: 198.51.100.$i"]);
$requests('lower case', fn () => ['x-forwarded-for: 203.0.113.4']);
$requests('control: another address each', fn (int $i) => ["X-Forwarded-For: 203.0.114.$i"]);
$nginx->kill();
?>
--EXPECT--
one line: 200 200 200 429 429
two lines: 200 200 200 429 429
an underscore: 200 200 200 429 429
lower case: 200 200 200 429 429
control: another address each: 200 200 200 200 200
