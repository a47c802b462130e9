--TEST--
Under php-fpm: a permit on Redis ends with its request, and the permit of a killed worker with its lease
--SKIPIF--
<?php require __DIR__ . '/../03_php_fpm/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';
require __DIR__ . '/../../tools/testkit/php/fpm.php';

$redis = RedisServer::start();
$fpm = new Fpm(['www' => ['pm.max_children' => 1]]);
$new = "new TokenBucketStorageRedis('unix://$redis->socket', timeout: 30.0, onFailure: TokenBucket\OnFailure::Throw)";
$held = fn (): int => $redis->command('ZCARD', 'tokenbucket:x~permits');
$hold = <<<PHP
    <?php
    ini_set('memory_limit', '16M');
    \$limit = new TokenBucket\ConcurrencyLimit($new, 'x', 8, 3600);
    final class Kept
    {
        public static \$permit;
    }
    Kept::\$permit = \$limit->acquire();
    \$cycle = [\$limit->acquire()];
    \$cycle[] = &\$cycle;
    echo \$limit->held(), ' held by ', getmypid(), "\n";

    PHP;
$run = function (string $name, string $code, string $expected = '') use ($fpm, $hold, $held): void {
    $script = $fpm->script(preg_replace('/\W/', '_', $name), $hold . $code);
    $said = $fpm->get($script);
    check(str_starts_with($said, '2 held') && str_contains($said, $expected), "$name: $said");
    // The worker releases its permits after it has ended the response.
    wait_for("$name: no permit", fn () => $held() === 0);
};
$run('the end of the script', '');
$run('exit', 'exit;');
$run('fatal error', 'trigger_error("dead", E_USER_ERROR);', 'dead');
$run('memory limit', 'str_repeat("x", 1 << 30);', 'Allowed memory size');
$run('uncaught exception', '(function ($permit) { throw new DomainException("enough"); })(Kept::$permit);', 'enough');

// The control: the permits of a killed worker stay until their leases end.
$said = $fpm->get($fpm->script('killed', $hold . 'flush(); exec("kill -KILL " . getmypid());'));
check($held() === 2, "the worker was killed: $said");
foreach ($redis->command('ZRANGE', 'tokenbucket:x~permits', '0', '-1') as $member) {
    $redis->command('ZADD', 'tokenbucket:x~permits', '1', $member);
}
$run('after the leases', '');
$fpm->stop();
echo "Done.\n";
?>
--EXPECT--
Done.
