--TEST--
The guard: limits are exact in the children of Apache prefork, also after a graceful reload
--SKIPIF--
<?php require __DIR__ . '/skip_apache.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/apache.php';
require __DIR__ . '/../../tools/testkit/php/http.php';

/** Sends requests by four clients with these header lines, and returns the statuses with counts. */
function load(Apache $apache, string $path, array $lines): string
{
    $request = fn () => trim(implode(' ', http_request($apache->port, $path, $lines) ?? ['lost']));
    $of_clients = in_processes(4, fn () => array_map($request, range(1, 25)));
    $counts = array_count_values(array_merge(...$of_clients));
    ksort($counts);
    return json_encode($counts);
}

foreach (['off' => '', 'on' => 'ip+path 1/day burst 20'] as $how => $guard) {
    $apache = new Apache(ini: ['tokenbucket.guard' => $guard, 'tokenbucket.guard_trusted_proxies' => '127.0.0.1']);
    $script = $apache->script('script', '<?php echo "script";');
    echo "== guard $how\n";
    echo 'one client: ', load($apache, $script, ['X-Forwarded-For: 203.0.113.1']), "\n";
    echo 'two lines of a header: ', load($apache, $script, ['X-Forwarded-For: 198.51.100.7', 'X-Forwarded-For: 203.0.113.2']), "\n";
    echo 'an underscore: ', load($apache, $script, ['X-Forwarded-For: 203.0.113.3', 'X_Forwarded_For: 198.51.100.7']), "\n";
    echo 'another spelling: ', load($apache, '//./%73cript.php/below?x', ['X-Forwarded-For: 203.0.113.1']), "\n";
    $apache->graceful();
    echo 'after a reload: ', load($apache, $script, ['X-Forwarded-For: 203.0.113.1']), "\n";
    check(!preg_match('/(exit signal|Fatal|Warning)/', $apache->log()), $apache->log());
    $apache->kill();
}
?>
--EXPECT--
== guard off
one client: {"200 script":100}
two lines of a header: {"200 script":100}
an underscore: {"200 script":100}
another spelling: {"200 script":100}
after a reload: {"200 script":100}
== guard on
one client: {"200 script":20,"429 Too many requests.":80}
two lines of a header: {"200 script":20,"429 Too many requests.":80}
an underscore: {"200 script":20,"429 Too many requests.":80}
another spelling: {"429 Too many requests.":100}
after a reload: {"429 Too many requests.":100}
