--TEST--
The guard: servers that ignore sections of php.ini warn about settings in them
--SKIPIF--
<?php require __DIR__ . '/skip_apache.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/apache.php';
require __DIR__ . '/../../tools/testkit/php/child.php';

/** Prints the number of warnings in a text. */
function warnings(string $what, string $text): void
{
    echo "$what: ", substr_count($text, 'php.ini has settings in a section [HOST=...] or [PATH=...], which this server ignores'), "\n";
}

$sections = [
    'a host' => "[HOST=localhost]\ntokenbucket.guard",
    'a path' => "[PATH=/srv]\ntokenbucket.guard_local",
    'no section' => 'tokenbucket.guard',
    'another section' => "[other]\ntokenbucket.guard",
    'a section of others' => "[HOST=localhost]\nmemory_limit",
];
foreach ($sections as $what => $name) {
    $value = str_ends_with($name, 'limit') ? '128M' : 'ip 1000/day';
    $log = log_file();
    $apache = new Apache(directives: ['StartServers' => 1], ini: ['log_errors' => '1', 'error_log' => $log, $name => $value]);
    $apache->kill();
    warnings("mod_php, $what", file_get_contents($log));
}
$folder = temporary_folder();
file_put_contents("$folder/php.ini", "[HOST=localhost]\ntokenbucket.guard=\"ip 1/day\"\n");
$arguments = '-c ' . escapeshellarg("$folder/php.ini") . ' ' . preg_replace('/^-n /', '', getenv('TEST_PHP_EXTRA_ARGS'));
$fpm = new Fpm(arguments: $arguments);
$fpm->stop();
warnings('php-fpm', $fpm->log());
warnings('command line', (string) shell_exec(PHP_BINARY . " $arguments -r '' 2>&1"));
?>
--EXPECT--
mod_php, a host: 1
mod_php, a path: 1
mod_php, no section: 0
mod_php, another section: 0
mod_php, a section of others: 0
php-fpm: 0
command line: 0
