--TEST--
TokenBucket\guard() applies the limits to each request of a worker loop, and its permits end with their object
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

fold_equal_lines();
$ini = [
    'tokenbucket.guard' => 'ip 1/day burst 3; on POST /login all 1/day; unless cookie a agent bot net 1/day; on /export* ip concurrent 1; on /export* all concurrent 2',
    'tokenbucket.guard_allow' => '192.0.2.9', 'tokenbucket.guard_trusted_proxies' => '10.0.0.1',
];
$run = function (string $what, string $code, array $more = []) use ($ini) {
    $functions = <<<'PHP'
        function request(string $address, string $uri = '/', array $more = []): array
        {
            return $more + ['REMOTE_ADDR' => $address, 'REQUEST_URI' => $uri, 'REQUEST_METHOD' => 'GET', 'SCRIPT_NAME' => '/index.php', 'SCRIPT_FILENAME' => '/srv/index.php'];
        }
        function show(?TokenBucket\Permit $permit): void
        {
            $it = $permit?->decision;
            echo $it === null ? 'null' : ($it->allowed ? "allowed, $it->remaining of $it->capacity left" : "denied by \"$it->refusedBy\": $it->reason"), "\n";
        }
        PHP;
    echo "== $what\n", php_run($functions . $code, $more + $ini), "\n";
};

$run('each request takes a token', <<<'PHP'
    for ($i = 0; $i < 4; $i++) {
        show(TokenBucket\guard(request('192.0.2.1')));
    }
    show(TokenBucket\guard(request('10.0.0.1', '/', ['HTTP_X_FORWARDED_FOR' => '192.0.2.1'])));
    show(TokenBucket\guard(request('::ffff:192.0.2.2')));
    PHP);
$run('conditions, and the script that runs', <<<'PHP'
    show(TokenBucket\guard(request('192.0.2.1', '/login', ['REQUEST_METHOD' => 'POST'])));
    show(TokenBucket\guard(request('192.0.2.2', '/index.php/login/', ['REQUEST_METHOD' => 'POST'])));
    show(TokenBucket\guard(request('192.0.2.3', '/', ['HTTP_USER_AGENT' => 'Bot'])));
    show(TokenBucket\guard(request('192.0.2.4', '/', ['HTTP_USER_AGENT' => 'Bot'])));
    show(TokenBucket\guard(request('192.0.2.5', '/', ['HTTP_USER_AGENT' => 'Bot', 'HTTP_COOKIE' => 'b; a=1'])));
    PHP);
$run('permits end with the last reference, and with release()', <<<'PHP'
    $first = TokenBucket\guard(request('192.0.2.1', '/export/1'));
    $copy = $first;
    show($first);
    show(TokenBucket\guard(request('192.0.2.1', '/export')));
    $other = TokenBucket\guard(request('192.0.2.2', '/export'));
    show(TokenBucket\guard(request('192.0.2.3', '/export')));
    unset($first);
    show(TokenBucket\guard(request('192.0.2.1', '/export')));
    unset($copy);
    show($again = TokenBucket\guard(request('192.0.2.1', '/export')));
    var_dump($again->renew(), TokenBucket\status()['permits']['held']);
    $other->release();
    $again->release();
    var_dump($again->renew(), TokenBucket\status()['permits']['held']);
    PHP);
$run('headers and cookies as Swoole has them', <<<'PHP'
    show(TokenBucket\guard(request('192.0.2.5', '/', ['HTTP_USER_AGENT' => 'Bot', 'HTTP_COOKIE' => ['b' => '1', 'a' => ['c' => 'd']]])));
    show(TokenBucket\guard(request('192.0.2.5', '/', ['HTTP_USER_AGENT' => ['Some', 'Bot'], 'HTTP_COOKIE' => ['b' => 'a=1', 'a=1']])));
    show(TokenBucket\guard(request('192.0.2.6', '/', ['HTTP_USER_AGENT' => ['Some', 'Bot'], 'HTTP_COOKIE' => ['b' => 'a=1', 5 => null]])));
    show(TokenBucket\guard(request('192.0.2.6', '/', ['HTTP_USER_AGENT' => ['Some', 'Bot'], 'HTTP_COOKIE' => []])));
    show(TokenBucket\guard(request('10.0.0.1', '/', ['HTTP_X_FORWARDED_FOR' => ['192.0.2.7', '192.0.2.5, 10.0.0.1']])));
    var_dump(TokenBucket\client_address(request('10.0.0.1', '/', ['HTTP_X_FORWARDED_FOR' => ['192.0.2.7', '192.0.2.6']])));
    PHP);
$run('a limit of concurrent requests alone', <<<'PHP'
    show($first = TokenBucket\guard(request('192.0.2.1')));
    show($second = TokenBucket\guard(request('192.0.2.2')));
    show(TokenBucket\guard(request('192.0.2.2')));
    PHP, ['tokenbucket.guard' => 'ip concurrent 5; all concurrent 2']);
$run('null', <<<'PHP'
    show(TokenBucket\guard(request('192.0.2.9')));
    show(TokenBucket\guard(request('unix:')));
    show(TokenBucket\guard(request('')));
    PHP);
$run('no limit counts the request', "show(TokenBucket\\guard(request('192.0.2.1')));", ['tokenbucket.guard' => 'on /x all 1/day']);
$run('no limit', "show(TokenBucket\\guard(request('192.0.2.1')));", ['tokenbucket.guard' => '']);
$run('observe', <<<'PHP'
    for ($i = 0; $i < 3; $i++) {
        show(TokenBucket\guard(request('192.0.2.1', '/export')));
    }
    echo TokenBucket\status()['permits']['held'], " held\n";
    foreach (TokenBucket\status()['decisions'] as $row) {
        str_starts_with($row['namespace'], 'guard: ip') && print("$row[namespace]: $row[granted_by_store] granted\n");
    }
    PHP, ['tokenbucket.guard_mode' => 'observe']);
$run('$_SERVER, also if PHP code has changed it', <<<'PHP'
    $_SERVER = request('192.0.2.1');
    show(TokenBucket\guard());
    $_SERVER['REMOTE_ADDR'] = '192.0.2.2';
    show(TokenBucket\guard(null));
    (function () {
        $GLOBALS['_SERVER']['REMOTE_ADDR'] = '192.0.2.2';
        show(TokenBucket\guard());
    })();
    PHP);
$run('no address', <<<'PHP'
    foreach ([fn () => TokenBucket\guard(), fn () => TokenBucket\guard([]), fn () => TokenBucket\guard(['remote_addr' => '192.0.2.1']), fn () => TokenBucket\guard(['REMOTE_ADDR' => 1])] as $call) {
        try {
            $call();
        } catch (ValueError $e) {
            echo $e->getMessage(), "\n";
        }
    }
    $_SERVER = 5;
    try {
        TokenBucket\guard();
    } catch (ValueError $e) {
        echo $e->getMessage(), "\n";
    }
    PHP);
?>
--EXPECT--
== each request takes a token
allowed, 2 of 3 left
allowed, 1 of 3 left
allowed, 0 of 3 left
denied by "ip 1/day burst 3": insufficient_tokens (2 times)
allowed, 2 of 3 left

== conditions, and the script that runs
allowed, 0 of 1 left
denied by "on POST /login all 1/day burst 1": insufficient_tokens
allowed, 0 of 1 left
denied by "unless cookie a agent bot net 1/day burst 1": insufficient_tokens
allowed, 2 of 3 left

== permits end with the last reference, and with release()
allowed, 2 of 3 left
denied by "on /export* ip concurrent 1": too_many_concurrent
denied by "on /export* all concurrent 2": server_busy
denied by "on /export* ip concurrent 1": too_many_concurrent
allowed, 1 of 3 left
bool(true)
int(4)
bool(false)
int(0)

== headers and cookies as Swoole has them
allowed, 2 of 3 left
allowed, 1 of 3 left
allowed, 0 of 1 left
denied by "unless cookie a agent bot net 1/day burst 1": insufficient_tokens
allowed, 0 of 3 left
string(9) "192.0.2.6"

== a limit of concurrent requests alone
allowed, 1 of 2 left
allowed, 0 of 2 left
denied by "all concurrent 2": server_busy

== null
null (3 times)

== no limit counts the request
null

== no limit
null

== observe
null (3 times)
0 held
guard: ip 1/day burst 3: 3 granted

== $_SERVER, also if PHP code has changed it
allowed, 2 of 3 left (2 times)
allowed, 1 of 3 left

== no address
TokenBucket\guard(): Argument #1 ($server) must have the address of the client as "REMOTE_ADDR" (5 times)
