--TEST--
The guard: on each web server a client is freed with the password, and never without it
--SKIPIF--
<?php require __DIR__ . '/skip_web_servers.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/web_servers.inc.php';
require __DIR__ . '/operator.inc.php';

const INI = ['tokenbucket.guard_trusted_proxies' => '127.0.0.1', 'tokenbucket.guard' => LIMIT];

/** Sends a request from 127.0.0.1 with this X-Forwarded-For. Returns the status and the body. */
function reply(int $port, string $forwarded, string $target): array
{
    return http_request($port, $target, ["X-Forwarded-For: $forwarded"]);
}

$test = function (string $name, int $port): void {
    $pages = fn (int $count): string => implode(' ', array_map(fn () => reply($port, '192.0.2.1', '/page.php')[0], range(1, $count)));
    $act = function (string $from, array $query) use ($port): string {
        $said = reply($port, $from, '/act.php?' . http_build_query($query + ['limit' => LIMIT, 'values' => ['192.0.2.1']]))[1];
        return preg_replace('/^.*Exception: |, .*/', '', $said);
    };
    echo "$name: ", $pages(3), ', ', $act('198.51.100.1', []), ', ', $act('198.51.100.1', ['password' => 'wrong']), ', ', $pages(1);
    echo ', ', $act('198.51.100.1', ['password' => 'right']), ' ', $pages(3);
    $guesses = array_map(fn (int $i) => reply($port, '198.51.100.2', "/forge.php?forged=203.0.113.$i&limit=x&values[]=&password=wrong")[1], range(1, 7));
    echo ', guesses: ', count(preg_grep('/The password is wrong$/', $guesses)), "\n";
};
/** A tenant that changes the variables of the server before each guess. */
const FORGE = <<<'PHP'
    <?php
    foreach (['REMOTE_ADDR', 'HTTP_X_FORWARDED_FOR'] as $name) {
        $_SERVER[$name] = $_GET['forged'];
        putenv("$name={$_GET['forged']}");
        function_exists('apache_setenv') && apache_setenv($name, $_GET['forged']);
    }
    require 'act.php';
    PHP;
$scripts = ['page' => SCRIPT, 'act' => ACT, 'index' => SCRIPT, 'forge' => FORGE];
echo "== without a password in php.ini\n";
with_web_servers(INI, $scripts, $test);
echo "== with a password\n";
$ini = INI + ['tokenbucket.guard_password_hash' => password_hash_of('right')];
with_web_servers($ini, $scripts, $test);

echo "== after a reload\n";
$fpm = new Fpm(ini: $ini + ['error_log' => log_file()]);
array_map($fpm->script(...), array_keys($scripts), $scripts);
$fpm->request("$fpm->folder/page.php", ['REMOTE_ADDR' => '192.0.2.1']);
$fpm->reload();
echo 'php-fpm: ', act($fpm, '198.51.100.1', null), "\n         ", act($fpm, '198.51.100.1', 'right'), "\n";
$apache = new Apache(ini: $ini);
array_map($apache->script(...), array_keys($scripts), $scripts);
reply($apache->port, '192.0.2.1', '/page.php');
$apache->graceful();
$query = http_build_query(['limit' => LIMIT, 'values' => ['192.0.2.1']]);
foreach (['', '&password=right'] as $password) {
    echo 'mod_php: ', reply($apache->port, '198.51.100.1', "/act.php?$query$password")[1], "\n";
}
?>
--EXPECT--
== without a password in php.ini
nginx and php-fpm: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429, guesses: 0
Apache and php-fpm: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429, guesses: 0
mod_php: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429, guesses: 0
php-cgi: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429, guesses: 0
PHP's own web server: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429, guesses: 0
== with a password
nginx and php-fpm: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429, guesses: 5
Apache and php-fpm: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429, guesses: 5
mod_php: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429, guesses: 5
php-cgi: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429, guesses: 5
PHP's own web server: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429, guesses: 5
== after a reload
php-fpm: TokenBucket\AccessDeniedException: A password is required
         done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
mod_php: TokenBucket\AccessDeniedException: A password is required
mod_php: done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
