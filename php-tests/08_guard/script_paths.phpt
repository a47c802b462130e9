--TEST--
The guard: paths that run the same script are one path, whatever SCRIPT_NAME is
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/apache.php';
require __DIR__ . '/../../tools/testkit/php/http.php';
require __DIR__ . '/../../tools/testkit/php/nginx.php';

const GUARD = ['tokenbucket.guard' => 'ip+path 1/day burst 3'];
const SPELLINGS = [
    '/login.php', '/login.php/1.php', '/login.php/2.php', '/login.php/3.php', '/login.ph%70//4.php', '/login.php/login.php/5.php',
];
const MULTI_VIEWS = [
    'LoadModule negotiation_module' => '/usr/lib/apache2/modules/mod_negotiation.so',
    'LoadModule mime_module' => '/usr/lib/apache2/modules/mod_mime.so',
    'TypesConfig' => '/dev/null', 'AddType' => 'application/x-httpd-php .php', 'AddLanguage' => 'en .en',
    '<Directory />' => '', 'Options' => '+MultiViews +ExecCGI', 'MultiviewsMatch' => 'Any', '</Directory>' => '',
];

/** Prints the statuses of requests for these paths. */
function requests(string $server, int $port, array $paths): void
{
    $statuses = array_map(fn (string $path) => http_request($port, $path)[0] ?? 'lost', $paths);
    echo "$server: ", implode(' ', $statuses), "\n";
}

$fpm = new Fpm(['www' => ['listen.mode' => '0666']], GUARD);
$fpm->script('login', SCRIPT);
$index = $fpm->script('index', SCRIPT);
$nginx = new Nginx($fpm);
requests('nginx', $nginx->port, SPELLINGS);
$nginx->kill();

// The paths of a front controller stay apart. The index of a folder is the page of the folder.
$front = fn (string $uri) => ['REQUEST_URI' => $uri, 'SCRIPT_NAME' => '/shop/index.php'];
$paths = ['/shop/', '/shop', '/shop/index.php', '/shop/index.php/a', '/shop/login', '/shop/login', '/shop/login', '/shop/login', '/shop/log'];
echo 'front controller: ', statuses($fpm, $index, ...array_map($front, $paths)), "\n";
// Old releases of Apache decode a question mark, and php-fpm ignores the part that follows it.
$marked = fn (int $i) => ['REMOTE_ADDR' => '192.0.2.1', 'REQUEST_URI' => "/login.php%3F$i.php", 'SCRIPT_NAME' => "/login.php?$i.php"];
echo 'question marks: ', statuses($fpm, "proxy:fcgi://localhost$fpm->folder/login.php?x.php", ...array_map($marked, range(1, 5))), "\n";
$fpm->stop();

// A condition finds the script if the root is a symbolic link.
$fpm = new Fpm(['www' => []], ['tokenbucket.guard' => 'on /login.php ip 1/day burst 3']);
$login = $fpm->script('login', SCRIPT);
symlink($fpm->folder, "$fpm->folder/current");
$below = fn (string $root) => ['REQUEST_URI' => '/1/login.php', 'SCRIPT_NAME' => '/1/login.php', 'DOCUMENT_ROOT' => $root];
echo 'linked root: ', statuses($fpm, $login, ...array_fill(0, 5, $below("$fpm->folder/current"))), "\n";
echo 'control, another root: ', statuses($fpm, $login, ...array_fill(0, 5, $below("$fpm->folder/other"))), "\n";
$fpm->stop();

foreach (['mod_php' => false, 'php-cgi' => true] as $how => $cgi) {
    // Processes of php-cgi share a named segment.
    $apache = new Apache($cgi, directives: MULTI_VIEWS, ini: GUARD + ['tokenbucket.shm_path' => segment_path()]);
    $apache->script('login', SCRIPT);
    requests("Apache, $how", $apache->port, SPELLINGS);
    $apache->script('names', SCRIPT);
    requests("Apache, $how, MultiViews", $apache->port, ['/names', '/names/1', '/names/2.php', '/names/3', '/names.php/4']);
    $apache->script('news.en', SCRIPT);
    requests("Apache, $how, two suffixes", $apache->port, ['/news', '/news/1', '/news.en/2', '/news/3', '/news.en.php/4']);
    $apache->kill();
}
?>
--EXPECT--
nginx: 200 200 200 429 429 429
front controller: 200 200 200 429 200 200 200 429 200
question marks: 200 200 200 429 429
linked root: 200 200 200 429 429
control, another root: 200 200 200 200 200
Apache, mod_php: 200 200 200 429 429 429
Apache, mod_php, MultiViews: 200 200 200 429 429
Apache, mod_php, two suffixes: 200 200 200 429 429
Apache, php-cgi: 200 200 200 429 429 429
Apache, php-cgi, MultiViews: 200 200 200 429 429
Apache, php-cgi, two suffixes: 200 200 200 429 429
