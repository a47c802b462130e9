--TEST--
The guard: no report shows the hash of the operator's password, and no tenant replaces it
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/operator.inc.php';
require __DIR__ . '/../../tools/testkit/php/child.php';

const NAME = 'tokenbucket.guard_password_hash';
$hash = password_hash_of('right');
$mine = password_hash_of('mine');

/** Prints all that PHP shows about its settings. */
const SHOW = <<<'PHP'
    $name = 'tokenbucket.guard_password_hash';
    phpinfo();
    var_dump(ini_get_all('tokenbucket', true), ini_get_all(null, false), get_cfg_var($name), (new ReflectionExtension('tokenbucket'))->getINIEntries());
    $ini = ini_set($name, 'x');
    ini_restore($name);
    try {
        new TokenBucket\GuardedClient('ip 1/day', ['192.0.2.1'], 'my secret');
    } catch (Throwable $e) {
        echo $e, print_r($e->getTrace(), true);
        var_dump($e);
    }
    var_export(TokenBucket\status());
    echo TokenBucket\metrics();
    echo "\nini_get: ", ini_get($name), ', get_cfg_var: ', var_export(get_cfg_var($name), true), ', ini_set: ', var_export($ini, true), "\n";
    PHP;
$show = function (string $what, string $printed) use ($hash, $mine): void {
    foreach (['the hash' => $hash, 'another hash' => $mine, 'a part of it' => substr($hash, 7, 20), 'the password' => 'my secret'] as $secret => $text) {
        check(!str_contains($printed, $text), "$what shows $secret");
    }
    preg_match('/^ini_get: .*|^tokenbucket.guard_password_hash => .*/m', $printed, $last);
    echo "$what: ", $last[0] ?? $printed, "\n";
};

$fpm = new Fpm(
    ['www' => ['pm.max_children' => 1], 'tenant' => ['php_admin_value[' . NAME . ']' => "'$mine'"]],
    ['tokenbucket.guard' => LIMIT, 'error_log' => log_file(), NAME => $hash],
);
$fpm->script('act', ACT);
$fpm->script('page', SCRIPT);
$script = $fpm->script('show', '<?php ' . SHOW);
$show('php-fpm', $fpm->get($script));
$show('a pool', $fpm->get($script, [], 'tenant'));
$show('php-cli', php_run(SHOW, [NAME => $hash]));
$show('php -i', php_run('', [NAME => $hash], '-i') . shell_exec(php_command([NAME => $hash]) . ' -i; ' . php_command([NAME => $hash]) . ' --ri tokenbucket'));
$show('without a hash', php_run(SHOW));

echo "== invalid hashes\n";
foreach (['my secret', '$2y$10$short', '5f4dcc3b5aa765d61d8327deb882cf99'] as $wrong) {
    echo strtok(ltrim(php_run('echo "ini_get: ", ini_get("tokenbucket.guard_password_hash");', [NAME => $wrong])), "\n"), "\n";
}

echo "== settings of a tenant\n";
$fpm->request("$fpm->folder/page.php", ['REMOTE_ADDR' => '192.0.2.1']);
$tried = [
    'a pool' => [[], 'tenant'],
    'PHP_ADMIN_VALUE' => [['PHP_ADMIN_VALUE' => NAME . "='$mine'"], 'www'],
    'PHP_VALUE' => [['PHP_VALUE' => NAME . "='$mine'"], 'www'],
    '.user.ini' => [['DOCUMENT_ROOT' => $fpm->folder], 'www'],
];
file_put_contents("$fpm->folder/.user.ini", NAME . "='$mine'\nuser_agent=read");
$from = 0;
foreach ($tried as $what => [$variables, $pool]) {
    foreach (['mine', 'right'] as $password) {
        $query = http_build_query(['limit' => LIMIT, 'values' => ['192.0.2.1'], 'password' => $password]);
        $request = ['REMOTE_ADDR' => '198.51.100.' . ++$from, 'QUERY_STRING' => $query] + $variables;
        echo "$what, $password: ", $fpm->request("$fpm->folder/act.php", $request, $pool)['body'], "\n";
    }
}
echo '.user.ini is ', $fpm->request($fpm->script('agent', '<?php echo ini_get("user_agent");'), ['DOCUMENT_ROOT' => $fpm->folder])['body'], "\n";
unlink("$fpm->folder/.user.ini");
$fpm->stop();

echo "== password_verify() of a tenant\n";
$fpm = new Fpm(ini: ['tokenbucket.guard' => LIMIT, 'error_log' => log_file(), NAME => $hash, 'disable_functions' => 'password_verify']);
$fpm->script('page', SCRIPT);
$fpm->request("$fpm->folder/page.php", ['REMOTE_ADDR' => '192.0.2.1']);
$fpm->script('act', '<?php function password_verify($password, $hash) { return true; } ?>' . ACT);
echo act($fpm, '198.51.100.1', 'mine'), "\n", act($fpm, '198.51.100.1', 'right'), "\n";
$fpm->stop();

echo "== sections of php.ini\n";
$file = temporary_folder() . '/php.ini';
file_put_contents($file, "[HOST=www.example]\n" . NAME . "='$hash'\n[PATH=/site]\n" . NAME . "='$hash'\n");
$command = preg_replace('/ -n\b/', ' -c ' . escapeshellarg($file), php_command(), 1);
$printed = shell_exec("$command -r " . escapeshellarg('echo json_encode(array_map(get_cfg_var(...), ["www.example", "/site", "tokenbucket.guard_password_hash"])), "\n"; phpinfo();'));
check(!str_contains($printed, $hash), 'a section shows the hash');
echo strtok($printed, "\n"), "\n";
?>
--EXPECT--
php-fpm: ini_get: hidden, get_cfg_var: 'hidden', ini_set: false
a pool: ini_get: hidden, get_cfg_var: 'hidden', ini_set: false
php-cli: tokenbucket.guard_password_hash => hidden => hidden
php -i: tokenbucket.guard_password_hash => hidden => hidden
without a hash: tokenbucket.guard_password_hash => no value => no value
== invalid hashes
Warning: tokenbucket: tokenbucket.guard_password_hash must be a hash of password_hash(); no password is accepted in Unknown on line 0
Warning: tokenbucket: tokenbucket.guard_password_hash must be a hash of password_hash(); no password is accepted in Unknown on line 0
Warning: tokenbucket: tokenbucket.guard_password_hash must be a hash of password_hash(); no password is accepted in Unknown on line 0
== settings of a tenant
a pool, mine: TokenBucket\AccessDeniedException: The password is wrong
a pool, right: done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
PHP_ADMIN_VALUE, mine: TokenBucket\AccessDeniedException: The password is wrong
PHP_ADMIN_VALUE, right: done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
PHP_VALUE, mine: TokenBucket\AccessDeniedException: The password is wrong
PHP_VALUE, right: done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
.user.ini, mine: TokenBucket\AccessDeniedException: The password is wrong
.user.ini, right: done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
.user.ini is read
== password_verify() of a tenant
TokenBucket\AccessDeniedException: The password is wrong
done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
== sections of php.ini
[{"tokenbucket.guard_password_hash":"hidden"},{"tokenbucket.guard_password_hash":"hidden"},false]
