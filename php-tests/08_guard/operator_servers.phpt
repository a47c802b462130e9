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
    echo ', ', $act('198.51.100.1', ['password' => 'right']), ' ', $pages(3), "\n";
};
$scripts = ['page' => SCRIPT, 'act' => ACT, 'index' => SCRIPT];
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
nginx and php-fpm: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429
Apache and php-fpm: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429
mod_php: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429
php-cgi: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429
PHP's own web server: 200 200 429, tokenbucket.guard_password_hash is not set, tokenbucket.guard_password_hash is not set, 429, tokenbucket.guard_password_hash is not set 429 429 429
== with a password
nginx and php-fpm: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429
Apache and php-fpm: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429
mod_php: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429
php-cgi: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429
PHP's own web server: 200 200 429, A password is required, The password is wrong, 429, done 200 200 429
== after a reload
php-fpm: TokenBucket\AccessDeniedException: A password is required
         done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
mod_php: TokenBucket\AccessDeniedException: A password is required
mod_php: done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
