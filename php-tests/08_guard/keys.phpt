--TEST--
The guard: requests are counted by address, host, path and headers
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

/** Prints the statuses of requests with these variables. Each limit allows one request in a day. */
function requests(string $keys, array ...$requests): void
{
    static $fpm = null;
    $fpm?->stop();
    $fpm = new Fpm(['www' => ['pm.max_children' => 1]], ['tokenbucket.guard' => "$keys 1/day"]);
    $of = array_map(fn (array $variables) => $variables + ['REMOTE_ADDR' => '192.0.2.1', 'SERVER_NAME' => 'a'], $requests);
    echo "$keys: ", statuses($fpm, $fpm->script('script', SCRIPT), ...$of), "\n";
}

$from = fn (string $address) => ['REMOTE_ADDR' => $address];
requests('ip', $from('192.0.2.1'), $from('192.0.2.1'), $from('192.0.2.2'), $from('::ffff:192.0.2.2'), $from('::FFFF:c000:202'));
requests('ip', $from('2001:db8::1'), $from('2001:db8::ffff:1:2:3'), $from('2001:DB8:0::5'), $from('2001:db8:0:1::1'), $from('2001:db8::%eth0'));
requests('ip', $from('nonsense'), $from('other'), $from('1.2.3.4, 5.6.7.8'), $from(''), $from(''), $from('unix:'));
$host = fn (string $name, string $header = '') => ['SERVER_NAME' => $name, 'HTTP_HOST' => $header];
requests('host', $host('a.example'), $host('a.example', 'forged'), $host('A.EXAMPLE.'), $host('b.example'));
$path = fn (string $uri, string $script = '/index.php') => ['REQUEST_URI' => $uri, 'SCRIPT_NAME' => $script];
requests('path', $path('/a'), $path('/a?b'), $path('//a'), $path('/%61'), $path('/b/../a/'), $path('http://x/a'), $path('/A'));
requests('path', $path('/x.php', '/x.php'), $path('/x.php/a', '/x.php'), $path('/x.php/b?c', '/x.php'), $path('/x.php%2fd', '/x.php'), $path('/y.php', '/y.php'));
$header = fn (string $value) => ['HTTP_X_API_KEY' => $value];
requests('header:X-Api-Key', $header('a'), $header('a'), $header('b'), $header(''), []);
requests('ip+header:X-Api-Key', $header('a'), $header('b'), $header('a'), $header('a') + $from('192.0.2.2'));
?>
--EXPECT--
ip: 200 429 200 429 429
ip: 200 429 429 200 429
ip: 200 429 429 200 200 200
host: 200 429 429 200
path: 200 429 429 429 429 429 200
path: 200 429 429 429 200
header:X-Api-Key: 200 429 200 200 429
ip+header:X-Api-Key: 200 200 429 200
