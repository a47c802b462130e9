--TEST--
examples/metrics.php serves only clients in its list, and refuses requests through a proxy on this host
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
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
    'X-Forwarded-Proto' => ['HTTP_X_FORWARDED_PROTO' => 'https'],
    'CF-Connecting-IP' => ['HTTP_CF_CONNECTING_IP' => '192.0.2.1'],
    'True-Client-IP' => ['HTTP_TRUE_CLIENT_IP' => '192.0.2.1'],
    'control: other headers' => ['HTTP_VIABLE' => 'a', 'HTTP_HOST' => 'localhost', 'HTTP_X_REQUEST_ID' => 'a'],
] as $what => $variables) {
    $reply = $fpm->request($script, $variables);
    echo "$what: $reply[status]", str_contains($reply['body'], 'tokenbucket_') ? ', metrics' : '', "\n";
}
$fpm->stop();
$fpm = new Fpm(ini: ['variables_order' => 'GPC']);
$script = $fpm->script('metrics', file_get_contents(__DIR__ . '/../../examples/metrics.php'));
echo 'empty $_SERVER: ', $fpm->request($script, ['REMOTE_ADDR' => '192.0.2.1'])['status'], "\n";
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
X-Forwarded-Proto: 403
CF-Connecting-IP: 403
True-Client-IP: 403
control: other headers: 200, metrics
empty $_SERVER: 403
