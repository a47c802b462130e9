--TEST--
examples/metrics.php serves only clients in its list, and none behind a proxy of this host
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/check.php';
require __DIR__ . '/../../tools/testkit/php/fpm.php';

$fpm = new Fpm();
$script = $fpm->script('metrics', file_get_contents(__DIR__ . '/../../examples/metrics.php'));
foreach ([
    'this host' => [],
    'an exporter without a web server' => ['REMOTE_ADDR' => ''],
    'elsewhere' => ['REMOTE_ADDR' => '192.0.2.1'],
    'X-Forwarded-For' => ['HTTP_X_FORWARDED_FOR' => '192.0.2.1'],
    'X-Forwarded-For of this host' => ['HTTP_X_FORWARDED_FOR' => '127.0.0.1'],
    'Forwarded' => ['HTTP_FORWARDED' => 'for=192.0.2.1'],
    'X-Real-IP' => ['HTTP_X_REAL_IP' => '192.0.2.1'],
    'Via' => ['HTTP_VIA' => '1.1 proxy'],
] as $what => $variables) {
    $reply = $fpm->request($script, $variables);
    echo "$what: $reply[status]", str_contains($reply['body'], 'tokenbucket_') ? ', metrics' : '', "\n";
}
?>
--EXPECT--
this host: 200, metrics
an exporter without a web server: 200, metrics
elsewhere: 403
X-Forwarded-For: 403
X-Forwarded-For of this host: 403
Forwarded: 403
X-Real-IP: 403
Via: 403
