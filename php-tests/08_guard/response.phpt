--TEST--
The guard: a denied request gets status 429 with header fields, and runs no PHP code
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';

foreach (['off' => '', 'on' => 'ip 2/hour burst 1'] as $how => $guard) {
    $fpm = new Fpm(['www' => ['pm.max_children' => 1]], ['tokenbucket.guard' => $guard]);
    $prepended = $fpm->script('prepended', '<?php echo "prepended ";');
    $appended = $fpm->script('appended', '<?php echo " appended";');
    $script = $fpm->script('script', '<?php echo "script";');
    // PHP takes settings of the request from the variable PHP_VALUE.
    $request = fn (string $method = 'GET') => $fpm->request($script, [
        'REMOTE_ADDR' => '192.0.2.1', 'REQUEST_METHOD' => $method,
        'PHP_VALUE' => "auto_prepend_file=$prepended\nauto_append_file=$appended",
    ]);
    echo "== guard $how\n";
    foreach (['GET', 'GET', 'HEAD', 'POST'] as $method) {
        ['status' => $status, 'fields' => $fields, 'body' => $body] = $request($method);
        unset($fields['x-powered-by']);
        ksort($fields);
        echo "$method: $status ", json_encode($body), "\n";
    }
    foreach ($fields as $name => $value) {
        echo "  $name: $value\n";
    }
    echo $fpm->request("$fpm->folder/missing.php", ['REMOTE_ADDR' => '192.0.2.9'])['status'], " for a missing script\n";
    $fpm->stop();
    // A debug build also reports leaks here.
    echo preg_replace('/^\[.*\] (NOTICE|DEBUG).*\n/m', '', $fpm->log());
}
?>
--EXPECTF--
== guard off
GET: 200 "prepended script appended"
GET: 200 "prepended script appended"
HEAD: 200 ""
POST: 200 "prepended script appended"
  content-type: text/html; charset=UTF-8
404 for a missing script
== guard on
GET: 200 "prepended script appended"
GET: 429 "Too many requests.\n"
HEAD: 429 ""
POST: 429 "Too many requests.\n"
  cache-control: no-store
  content-type: text/html; charset=UTF-8
  ratelimit: "guard";r=0;t=%d
  ratelimit-policy: "guard";q=1;w=1800
  retry-after: 1%d
  status: 429 Too Many Requests
404 for a missing script
