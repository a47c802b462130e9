--TEST--
The guard: in a web server only a password frees a client, and each network has five wrong ones
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/operator.inc.php';

const CLIENT = ['REMOTE_ADDR' => '192.0.2.1'];
$start = function (array $ini): array {
    $fpm = new Fpm(ini: $ini + ['tokenbucket.guard' => LIMIT, 'error_log' => log_file()]);
    $fpm->script('act', ACT);
    $page = $fpm->script('page', SCRIPT);
    echo statuses($fpm, $page, CLIENT, CLIENT, CLIENT), "\n";
    return [$fpm, $page];
};

echo "== with a named segment, which only the command line shares without a password\n";
[$fpm, $page] = $start(['tokenbucket.shm_path' => segment_path()]);
echo act($fpm, '198.51.100.1', null), "\n", statuses($fpm, $page, CLIENT), "\n";
$fpm->stop();

echo "== with a password\n";
[$fpm, $page] = $start(['tokenbucket.guard_password_hash' => password_hash_of('right'), 'tokenbucket.guard_trusted_proxies' => '10.0.0.1']);
echo act($fpm, '198.51.100.1', null), "\n", act($fpm, '198.51.100.1', 'wrong'), "\n", statuses($fpm, $page, CLIENT), "\n";
echo act($fpm, '198.51.100.1', 'right'), "\n", statuses($fpm, $page, CLIENT, CLIENT, CLIENT), "\n";
echo act($fpm, '198.51.100.1', 'right', ['act' => 'peek']), "\n";
echo act($fpm, '198.51.100.1', 'right', ['act' => 'block', 'values' => ['192.0.2.9']]), "\n", statuses($fpm, $page, ['REMOTE_ADDR' => '192.0.2.9']), "\n";
echo act($fpm, '198.51.100.1', 'right', ['act' => 'block', 'values' => ['10.0.0.1']]), "\n";

echo "== a success forgets the wrong passwords before it\n";
for ($i = 0; $i < 3; $i++) {
    [$first, $second] = [act($fpm, '198.51.100.2', 'wrong'), act($fpm, '198.51.100.2', 'Right')];
    check($first === $second && str_ends_with($first, 'The password is wrong'), "$first, $second");
    check(str_starts_with(act($fpm, '198.51.100.2', 'right'), 'done'), 'the right password');
}

/** Counts the answers to guesses of four clients that guess at once. */
$guesses = function (string $what, callable $from) use ($fpm): void {
    $answers = in_processes(4, fn (int $client) => array_map(
        fn (int $guess) => act($fpm, $from($client, $guess), "guess $client $guess"),
        range(1, 5),
    ));
    $counts = array_count_values(array_merge(...$answers));
    ksort($counts);
    echo "$what: ", json_encode($counts), "\n";
};
echo "== guesses at once\n";
$guesses('one address', fn () => '198.51.100.3');
$guesses('a /64', fn (int $client, int $guess) => "2001:db8::$client:$guess");
echo act($fpm, '2001:db8::ff', 'right'), "\n", act($fpm, '2001:db8:0:1::1', 'right'), "\n";
echo 'behind a proxy: ', act($fpm, '10.0.0.1', 'right', variables: ['HTTP_X_FORWARDED_FOR' => '198.51.100.3']), "\n";
echo 'another client of the proxy: ', act($fpm, '10.0.0.1', 'right', variables: ['HTTP_X_FORWARDED_FOR' => '198.51.100.4']), "\n";
echo 'a forged address: ', act($fpm, '198.51.100.3', 'right', variables: ['HTTP_X_FORWARDED_FOR' => '198.51.100.4']), "\n";
echo "row: ", json_encode(decisions($fpm, 'guard: password')), "\n";

echo "== no code of a tenant forgets the guesses\n";
$forget = $fpm->script('forget', <<<'PHP'
    <?php
    $_SERVER['REMOTE_ADDR'] = $_ENV['REMOTE_ADDR'] = '203.0.113.1';
    putenv('REMOTE_ADDR=203.0.113.1');
    foreach (['guard', 'guard: password', 'password', '', 'lockout'] as $namespace) {
        $storage = new TokenBucketStorageSharedMemory($namespace);
        foreach (['198.51.100.3', "guard\0password198.51.100.3"] as $name) {
            (new TokenBucket($storage, $name, 5, 1))->reset();
            (new TokenBucket\Lockout($storage, $name))->succeed();
        }
    }
    require 'act.php';
    PHP);
$query = http_build_query(['limit' => LIMIT, 'values' => ['192.0.2.1'], 'password' => 'right']);
echo strtok($fpm->request($forget, ['REMOTE_ADDR' => '198.51.100.3', 'QUERY_STRING' => $query])['body'], ';'), "\n";

echo "== wrong arguments cost no guess\n";
for ($i = 0; $i < 8; $i++) {
    $answers[] = act($fpm, '198.51.100.5', 'right', ['limit' => 'ip 1/day']);
    $answers[] = act($fpm, '198.51.100.5', 'right', ['values' => ['x']]);
    $answers[] = act($fpm, '198.51.100.5', null);
}
echo implode("\n", array_unique($answers)), "\n", act($fpm, '198.51.100.5', 'right'), "\n";
$fpm->stop();

echo "== right passwords at once\n";
// A password takes long enough to verify that more requests than attempts overlap.
$fpm = new Fpm(['www' => ['pm.max_children' => 12]], ['tokenbucket.guard' => LIMIT, 'tokenbucket.guard_password_hash' => password_hash('right', PASSWORD_BCRYPT, ['cost' => 10]), 'error_log' => log_file()]);
$fpm->script('act', ACT);
$fpm->request($fpm->script('page', SCRIPT), CLIENT);
$start = hrtime(true);
$answers = array_count_values(in_processes(12, fn () => act($fpm, '198.51.100.1', 'right')));
// Requests wait for the attempts of others for two seconds.
count($answers) === 1 || hrtime(true) - $start < 2e9 || inconclusive('the machine was too slow');
echo json_encode($answers), "\n";
?>
--EXPECT--
== with a named segment, which only the command line shares without a password
200 200 429
TokenBucket\AccessDeniedException: tokenbucket.guard_password_hash is not set
429
== with a password
200 200 429
TokenBucket\AccessDeniedException: A password is required
TokenBucket\AccessDeniedException: The password is wrong
429
done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
200 200 429
done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has -1
done, 192.0.2.9 of on /page.php ip 2/day burst 2 block 1 day has 0
429
TokenBucket\AccessDeniedException: tokenbucket.guard_trusted_proxies has this client, so it is not blocked
== a success forgets the wrong passwords before it
== guesses at once
one address: {"TokenBucket\\AccessDeniedException: The password is wrong":5,"TokenBucket\\AccessDeniedException: Too many wrong passwords; try again":15}
a /64: {"TokenBucket\\AccessDeniedException: The password is wrong":5,"TokenBucket\\AccessDeniedException: Too many wrong passwords; try again":15}
TokenBucket\AccessDeniedException: Too many wrong passwords; try again
done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
behind a proxy: TokenBucket\AccessDeniedException: Too many wrong passwords; try again
another client of the proxy: done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
a forged address: TokenBucket\AccessDeniedException: Too many wrong passwords; try again
row: {"granted":9,"denied":50}
== no code of a tenant forgets the guesses
TokenBucket\AccessDeniedException: Too many wrong passwords
== wrong arguments cost no guess
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must be a limit that the guard has used, "guard: ip 1/day burst 1" given
ValueError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must have an address such as 192.0.2.1 or 2001:db8::1 for the key "ip"
TokenBucket\AccessDeniedException: A password is required
done, 192.0.2.1 of on /page.php ip 2/day burst 2 block 1 day has 2
== right passwords at once
{"done, 192.0.2.1 of on \/page.php ip 2\/day burst 2 block 1 day has 2":12}
