--TEST--
TokenBucket\guard_decisions() returns what each limit has decided about the request, also the denials of the mode "observe"
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/child.php';

const SHOW = <<<'PHP'
    function show(): string
    {
        $decisions = TokenBucket\guard_decisions();
        if ($decisions === null) {
            return "null\n";
        }
        $lines = ['the decisions of ' . count($decisions) . " limits\n"];
        foreach ($decisions as $limit => $it) {
            $lines[] = "  $limit: $it->reason, $it->remaining of $it->capacity left" . ($it->allowed ? '' : ", refused by $it->refusedBy") . "\n";
        }
        return implode('', $lines);
    }
    PHP;
const INI = [
    'tokenbucket.guard' => 'ip 1/day burst 2; all 1/day burst 3 leave 1 on /export* name site; on /never ip 1/day; ip concurrent 4 leave 2 on /export',
    'tokenbucket.guard_local' => 'host 1/day burst 9 name site', 'tokenbucket.guard_allow' => '192.0.2.9', 'error_log' => '/dev/null',
];

foreach (['observe', 'enforce'] as $mode) {
    $fpm = new Fpm(['www' => ['pm.max_children' => 1]], INI + ['tokenbucket.guard_mode' => $mode]);
    $script = $fpm->script('script', '<?php ' . SHOW . ' echo show();');
    foreach ([['192.0.2.1', '/'], ['192.0.2.1', '/export'], ['192.0.2.1', '/export'], ['192.0.2.2', '/'], ['192.0.2.9', '/'], ['', '/']] as [$client, $uri]) {
        ['status' => $status, 'body' => $body] = $fpm->request($script, ['REMOTE_ADDR' => $client, 'REQUEST_URI' => $uri]);
        echo "== $mode, \"$client\" $uri: $status ", trim($body), "\n";
    }
    $header = $fpm->script('header', '<?php echo TokenBucket\Decision::headersOf(TokenBucket\guard_decisions())["RateLimit-Policy"], "\n";');
    echo preg_replace('/w=\d+/', 'w=…', $fpm->request($header, ['REMOTE_ADDR' => '192.0.2.3', 'REQUEST_URI' => '/'])['body']);
    $fpm->stop();
}

echo "== no limit\n";
$fpm = new Fpm();
echo $fpm->request($fpm->script('script', '<?php ' . SHOW . ' echo show();'), ['REMOTE_ADDR' => '192.0.2.1'])['body'];
$fpm->stop();

echo "== worker loops\n";
$loop = SHOW . <<<'PHP'
    echo show();
    foreach (['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.9'] as $client) {
        $held = TokenBucket\guard(['REMOTE_ADDR' => $client, 'REQUEST_URI' => '/']);
        echo show();
    }
    PHP;
echo php_run($loop, INI), "== a loop that observes\n", php_run($loop, ['tokenbucket.guard_mode' => 'observe'] + INI);
?>
--EXPECT--
== observe, "192.0.2.1" /: 200 the decisions of 4 limits
  ip 1/day burst 2: granted, 1 of 2 left
  site: granted, 2 of 3 left
  ip concurrent 4 leave 2 on /export: granted, 3 of 4 left
  guard_local: site: granted, 8 of 9 left
== observe, "192.0.2.1" /export: 200 the decisions of 4 limits
  ip 1/day burst 2: granted, 0 of 2 left
  site: granted, 1 of 3 left
  ip concurrent 4 leave 2 on /export: granted, 1 of 2 left
  guard_local: site: granted, 7 of 9 left
== observe, "192.0.2.1" /export: 200 the decisions of 4 limits
  ip 1/day burst 2: insufficient_tokens, 0 of 2 left, refused by ip 1/day burst 2
  site: below_floor, 1 of 3 left, refused by site
  ip concurrent 4 leave 2 on /export: granted, 1 of 2 left
  guard_local: site: granted, 6 of 9 left
== observe, "192.0.2.2" /: 200 the decisions of 4 limits
  ip 1/day burst 2: granted, 1 of 2 left
  site: granted, 0 of 3 left
  ip concurrent 4 leave 2 on /export: granted, 3 of 4 left
  guard_local: site: granted, 5 of 9 left
== observe, "192.0.2.9" /: 200 the decisions of 0 limits
== observe, "" /: 200 the decisions of 0 limits
"ip 1/day burst 2";q=2;w=…, "site";q=3;w=…, "ip concurrent 4 leave 2 on /export";q=4;qu="concurrent-requests", "guard_local: site";q=9;w=…
== enforce, "192.0.2.1" /: 200 the decisions of 4 limits
  ip concurrent 4 leave 2 on /export: granted, 3 of 4 left
  ip 1/day burst 2: granted, 1 of 2 left
  site: granted, 2 of 3 left
  guard_local: site: granted, 8 of 9 left
== enforce, "192.0.2.1" /export: 200 the decisions of 4 limits
  ip concurrent 4 leave 2 on /export: granted, 1 of 2 left
  ip 1/day burst 2: granted, 0 of 2 left
  site: granted, 1 of 3 left
  guard_local: site: granted, 7 of 9 left
== enforce, "192.0.2.1" /export: 429 Too many requests.
== enforce, "192.0.2.2" /: 200 the decisions of 4 limits
  ip concurrent 4 leave 2 on /export: granted, 3 of 4 left
  ip 1/day burst 2: granted, 1 of 2 left
  site: granted, 0 of 3 left
  guard_local: site: granted, 6 of 9 left
== enforce, "192.0.2.9" /: 200 the decisions of 0 limits
== enforce, "" /: 200 the decisions of 0 limits
Too many requests.
== no limit
null
== worker loops
null
the decisions of 4 limits
  ip concurrent 4 leave 2 on /export: granted, 3 of 4 left
  ip 1/day burst 2: granted, 1 of 2 left
  site: granted, 2 of 3 left
  guard_local: site: granted, 8 of 9 left
the decisions of 4 limits
  ip concurrent 4 leave 2 on /export: granted, 2 of 4 left
  ip 1/day burst 2: granted, 0 of 2 left
  site: granted, 1 of 3 left
  guard_local: site: granted, 7 of 9 left
the decisions of 1 limits
  ip 1/day burst 2: insufficient_tokens, 0 of 2 left, refused by ip 1/day burst 2
the decisions of 0 limits
== a loop that observes
null
the decisions of 4 limits
  ip 1/day burst 2: granted, 1 of 2 left
  site: granted, 2 of 3 left
  ip concurrent 4 leave 2 on /export: granted, 3 of 4 left
  guard_local: site: granted, 8 of 9 left
the decisions of 4 limits
  ip 1/day burst 2: granted, 0 of 2 left
  site: granted, 1 of 3 left
  ip concurrent 4 leave 2 on /export: granted, 3 of 4 left
  guard_local: site: granted, 7 of 9 left
the decisions of 4 limits
  ip 1/day burst 2: insufficient_tokens, 0 of 2 left, refused by ip 1/day burst 2
  site: granted, 0 of 3 left
  ip concurrent 4 leave 2 on /export: granted, 3 of 4 left
  guard_local: site: granted, 6 of 9 left
the decisions of 0 limits
