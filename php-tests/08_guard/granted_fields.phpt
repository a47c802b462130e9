--TEST--
The guard: granted requests carry the header fields of their tightest limit if the setting is on, and a cache in front repeats them
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/web_servers.inc.php';

/** Returns the status and the fields of the guard in a response. */
function fields(int $port, string $path): string
{
    $context = stream_context_create(['http' => ['ignore_errors' => true, 'timeout' => 60]]);
    file_get_contents("http://127.0.0.1:$port$path", false, $context);
    $fields = preg_grep('/^RateLimit/i', $http_response_header);
    return rtrim(explode(' ', $http_response_header[0])[1] . ' ' . preg_replace('/([wt])=\d+/', '$1=…', implode(', ', $fields)));
}

const SCRIPTS = ['index' => '<?php header("RateLimit-Policy: \"own\"", false);', 'login' => SCRIPT];
foreach (['0', '1', 'Off', 'On', '2'] as $value) {
    $ini = ['tokenbucket.guard' => 'all 1/day burst 9; all concurrent 5; ip 1/day burst 4', 'tokenbucket.guard_headers' => $value, 'error_log' => '/dev/null'];
    $servers = $value === '1' ? [] : ['nginx and php-fpm'];
    with_web_servers($ini, SCRIPTS, function (string $name, int $port) use ($value) {
        echo "$value, $name: ", fields($port, '/login.php'), "\n";
    }, ...$servers);
}
$ini = ['tokenbucket.guard' => 'all 1/day burst 2', 'tokenbucket.guard_headers' => '1', 'error_log' => '/dev/null'];
foreach (['enforce', 'observe'] as $mode) {
    with_web_servers($ini + ['tokenbucket.guard_mode' => $mode], SCRIPTS, function (string $name, int $port) use ($mode) {
        echo "$mode: ", implode(' | ', array_map(fn (string $path) => fields($port, $path), ['/', '/login.php', '/login.php'])), "\n";
    }, 'nginx and php-fpm');
}

echo "== behind a cache\n";
$fpm = new Fpm(['www' => ['listen.mode' => '0666']], $ini);
$fpm->script('page', '<?php header("Cache-Control: max-age=600"); echo getmypid();');
$cache = new Nginx($fpm, 'fastcgi_cache pages; fastcgi_cache_key $request_uri;', http: 'fastcgi_cache_path %s/cache keys_zone=pages:1m;');
echo implode(' | ', array_map(fn () => fields($cache->port, '/page.php'), range(1, 3))), "\n";
$cache->kill();
$hidden = new Nginx($fpm, 'fastcgi_hide_header RateLimit; fastcgi_hide_header RateLimit-Policy;');
echo 'hidden: ', fields($hidden->port, '/page.php'), "\n";
?>
--EXPECT--
0, nginx and php-fpm: 200
1, nginx and php-fpm: 200 RateLimit-Policy: "guard";q=4;w=…, RateLimit: "guard";r=3;t=…
1, Apache and php-fpm: 200 RateLimit-Policy: "guard";q=4;w=…, RateLimit: "guard";r=3;t=…
1, mod_php: 200 RateLimit-Policy: "guard";q=4;w=…, RateLimit: "guard";r=3;t=…
1, php-cgi: 200 RateLimit-Policy: "guard";q=4;w=…, RateLimit: "guard";r=3;t=…
1, PHP's own web server: 200 RateLimit-Policy: "guard";q=4;w=…, RateLimit: "guard";r=3;t=…
Off, nginx and php-fpm: 200
On, nginx and php-fpm: 200 RateLimit-Policy: "guard";q=4;w=…, RateLimit: "guard";r=3;t=…
2, nginx and php-fpm: 200
enforce: 200 RateLimit-Policy: "guard";q=2;w=…, RateLimit: "guard";r=1;t=…, RateLimit-Policy: "own" | 200 RateLimit-Policy: "guard";q=2;w=…, RateLimit: "guard";r=0;t=… | 429 RateLimit-Policy: "guard";q=2;w=…, RateLimit: "guard";r=0;t=…
observe: 200 RateLimit-Policy: "own" | 200 | 200
== behind a cache
200 RateLimit-Policy: "guard";q=2;w=…, RateLimit: "guard";r=1;t=… | 200 RateLimit-Policy: "guard";q=2;w=…, RateLimit: "guard";r=1;t=… | 200 RateLimit-Policy: "guard";q=2;w=…, RateLimit: "guard";r=1;t=…
hidden: 200
