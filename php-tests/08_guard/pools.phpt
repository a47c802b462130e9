--TEST--
The guard: php.ini, pools and sections of php.ini set limits, and applications only add to them
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/child.php';

$folder = temporary_folder();
chmod($folder, 0755);
// The php.ini of this test replaces the arguments of PHP, so their settings become lines of it.
preg_match_all('/-d\s+(["\']?)(?<name>[\w.]+)=(?<value>.*?)\1(?=\s|$)/', (string) getenv('TEST_PHP_EXTRA_ARGS'), $arguments, PREG_SET_ORDER);
$log = log_file();
$lines = array_map(fn (array $argument) => "$argument[name]=" . trim($argument['value'], '"\''), $arguments);
$lines[] = "error_log=$log";
file_put_contents("$folder/php.ini", implode("\n", $lines) . <<<INI

    tokenbucket.guard = "ip 1/day burst 3"
    [HOST=strict.example]
    tokenbucket.guard = "ip 1/day burst 1"
    [HOST=open.example]
    tokenbucket.guard =
    [HOST=wrong.example]
    tokenbucket.guard = "ip 1/fortnight"
    [PATH=$folder/site]
    tokenbucket.guard = "ip 1/day burst 4"
    INI);
mkdir("$folder/site");
file_put_contents("$folder/site/script.php", SCRIPT);
$fpm = new Fpm(
    [
        'www' => ['pm.max_children' => 1],
        'strict' => ['pm.max_children' => 1, 'php_admin_value[tokenbucket.guard]' => '"ip 1/day burst 2; path 1/day burst 100"'],
        'typo' => ['pm.max_children' => 1, 'php_admin_value[tokenbucket.guard_mode]' => 'observed'],
        'open' => ['pm.max_children' => 1, 'php_admin_value[tokenbucket.guard]' => '""'],
    ],
    arguments: '-c ' . escapeshellarg("$folder/php.ini"),
);
$fpm->script('script', SCRIPT);
mkdir("$fpm->folder/tenant");
copy("$fpm->folder/script.php", "$fpm->folder/tenant/script.php");

/** Sends five requests from one address, and prints their statuses. */
$requests = function (string $what, string $script, string $pool = 'www', string $host = 'plain.example') use ($fpm): void {
    static $client = 0;
    $client++;
    $variables = ['REMOTE_ADDR' => "192.0.2.$client", 'SERVER_NAME' => $host, 'DOCUMENT_ROOT' => $fpm->folder];
    $path = $script[0] === '/' ? "$script.php" : "$fpm->folder/$script.php";
    $statuses = array_map(fn () => $fpm->request($path, $variables, $pool)['status'], range(1, 5));
    echo "$what: ", implode(' ', $statuses), "\n";
};

$requests('php.ini', 'script');
$requests('a pool', 'script', 'strict');
$requests('a pool without a guard', 'script', 'open');
$requests('a pool with a wrong mode', 'script', 'typo');
$requests('a section of php.ini', 'script', 'www', 'strict.example');
$requests('a section without a guard', 'script', 'www', 'open.example');
$requests('a section with an error', 'script', 'www', 'wrong.example');
$requests('a section for a folder', "$folder/site/script");
$requests('php.ini again', 'script');
$user_ini = function (string $text) use ($fpm): void {
    file_put_contents("$fpm->folder/tenant/.user.ini", $text);
    chmod("$fpm->folder/tenant/.user.ini", 0644);
    // Workers cache .user.ini for minutes, so they are replaced.
    $fpm->reload();
};
$user_ini("tokenbucket.guard=\ntokenbucket.guard_mode=observe\ntokenbucket.guard_allow=0.0.0.0/0\ntokenbucket.guard_trusted_proxies=0.0.0.0/0\n");
$requests('.user.ini cannot weaken', 'tenant/script');
$user_ini('tokenbucket.guard_local="ip 1/day burst 2"');
$requests('.user.ini adds a limit', 'tenant/script');
$requests('only there', 'script');
$user_ini('tokenbucket.guard_local="ip 1/day burst 1000"');
$requests('.user.ini cannot raise a limit', 'tenant/script');
$user_ini("tokenbucket.guard_local=\"path 1/day burst 4\"\ntokenbucket.namespace=one");
$requests('a limit in a namespace', 'tenant/script', 'open');
$user_ini("tokenbucket.guard_local=\"path 1/day burst 4\"\ntokenbucket.namespace=two");
$requests('the same limit in another namespace', 'tenant/script', 'open');
echo preg_replace('/^\[.*?\] /m', '', file_get_contents($log));
array_map(unlink(...), ["$fpm->folder/tenant/script.php", "$fpm->folder/tenant/.user.ini", "$folder/site/script.php"]);
array_map(rmdir(...), ["$fpm->folder/tenant", "$folder/site"]);
?>
--EXPECT--
php.ini: 200 200 200 429 429
a pool: 200 200 429 429 429
a pool without a guard: 200 200 200 200 200
a pool with a wrong mode: 200 200 200 429 429
a section of php.ini: 200 429 429 429 429
a section without a guard: 200 200 200 200 200
a section with an error: 200 200 200 200 200
a section for a folder: 200 200 200 200 429
php.ini again: 200 200 200 429 429
.user.ini cannot weaken: 200 200 200 429 429
.user.ini adds a limit: 200 200 429 429 429
only there: 200 200 200 429 429
.user.ini cannot raise a limit: 200 200 200 429 429
a limit in a namespace: 200 200 200 200 429
the same limit in another namespace: 200 200 200 200 429
tokenbucket: tokenbucket.guard_mode must be "enforce" or "observe", "observed" given; using "enforce"
tokenbucket: tokenbucket.guard must have second, minute, hour or day at position 6, "fortnight" given; no limit of this setting is in force
