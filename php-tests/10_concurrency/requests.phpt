--TEST--
Under php-fpm: a permit ends with its request, however the request ends
--SKIPIF--
<?php require __DIR__ . '/../03_php_fpm/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/fpm.php';

// Each pool has one worker. The pool "look" sees the permits of the pool "www", whose worker has
// not begun another request.
$fpm = new Fpm(['www' => ['pm.max_children' => 1], 'look' => ['pm.max_children' => 1]]);
$look = $fpm->script('look', <<<'PHP'
    <?php
    echo (new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 8))->held();
    PHP);
$hold = <<<'PHP'
    <?php
    ini_set('memory_limit', '16M');
    $limit = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 8);
    $permits = [$limit->acquire(), $limit->acquire()];
    $cycle = [$limit->acquire()];
    $cycle[] = &$cycle;
    final class Kept
    {
        public static $permit;
    }
    Kept::$permit = $limit->acquire();
    echo $limit->held(), ' held by ', getmypid(), "\n";

    PHP;
$run = function (string $name, string $code, string $expected = '', string $before = '') use ($fpm, $hold, $look): void {
    $script = $fpm->script(preg_replace('/\W/', '_', $name), "<?php $before ?>$hold$code");
    $workers = $fpm->workers();
    $said = $fpm->get($script);
    check(str_starts_with($said, '4 held') && str_contains($said, $expected), "$name: $said");
    echo "$name: ", $fpm->get($look, [], 'look'), " held\n";
    check($fpm->workers() === $workers, "$name: the same workers");
};
$run('the end of the script', '');
$run('exit', 'exit;');
$run('exit in a destructor', '$last = new class { public function __destruct() { exit; } };');
$run('fatal error', 'trigger_error("dead", E_USER_ERROR);', 'dead');
$run('fatal error in a shutdown function', 'register_shutdown_function(fn () => trigger_error("dead", E_USER_ERROR));', 'dead');
$run('memory limit', 'str_repeat("x", 1 << 30);', 'Allowed memory size');
$run('memory limit in acquire()', <<<'PHP'
    ini_set('memory_limit', 2 << 20);
    for ($fill = []; memory_get_usage() < (2 << 20) - 300_000;) {
        // The opcache would compute the result of str_repeat() only once.
        $fill[] = random_bytes(2_000);
    }
    $most = new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 1024);
    while ($permits[] = $most->acquire()) { }
    PHP, 'Allowed memory size');
$run('uncaught exception', '(function ($permit) { throw new DomainException("enough"); })($permits[0]);', 'enough');
$run('time limit', 'set_time_limit(1); while (true) { }', 'Maximum execution time');
$run('compile error', 'eval("final final class A {}");', 'Multiple final modifiers');

echo "-- PHP code may take permits after the end of the request --\n";
$written = "$fpm->folder/written";
touch($written);
chmod($written, 0666);
$run('session handler', <<<PHP
    final class Handler implements SessionHandlerInterface
    {
        private \$new;
        public function __construct(private \$limit, private \$old) {}
        public function open(\$path, \$name): bool { return true; }
        public function close(): bool { return true; }
        public function read(\$id): string { return ''; }
        public function destroy(\$id): bool { return true; }
        public function gc(\$lifetime): int { return 0; }
        public function write(\$id, \$data): bool
        {
            \$before = \$this->limit->held();
            \$this->new = [\$this->limit->acquire(), \$this->limit->acquire()];
            // The old permits have ended, and the new ones use their places. The old objects must
            // not release or renew the new permits.
            \$this->old[0]->release();
            \$renewed = [\$this->old[1]->renew(), \$this->new[0]->renew()];
            \$this->old = [];
            file_put_contents('$written', json_encode([\$before, \$renewed, \$this->limit->held()]));
            return true;
        }
    }
    ini_set('session.use_cookies', 0);
    session_set_save_handler(new Handler(\$limit, \$permits), false);
    session_start();
    \$_SESSION['a'] = 1;
    PHP, before: 'ob_start();');
echo file_get_contents($written), "\n";

echo "-- a permit lasts longer than the response --\n";
$begun = "$fpm->folder/begun";
touch($begun);
chmod($begun, 0666);
$script = $fpm->script('finish', <<<PHP
    <?php
    \$permit = (new TokenBucket\ConcurrencyLimit(new TokenBucketStorageSharedMemory, 'x', 8))->acquire();
    fastcgi_finish_request();
    while (file_get_contents('$begun') === '') {
        usleep(1000);
    }
    PHP);
$fpm->get($script);
// Control: the permit is held, because the request has not ended.
echo $fpm->get($look, [], 'look'), " held\n";
file_put_contents($begun, 'end');
for ($i = 0; $i < 6000 && $fpm->get($look, [], 'look') !== '0'; $i++) {
    usleep(10_000);
}
echo $fpm->get($look, [], 'look'), " held\n";
$fpm->stop();
?>
--EXPECT--
the end of the script: 0 held
exit: 0 held
exit in a destructor: 0 held
fatal error: 0 held
fatal error in a shutdown function: 0 held
memory limit: 0 held
memory limit in acquire(): 0 held
uncaught exception: 0 held
time limit: 0 held
compile error: 0 held
-- PHP code may take permits after the end of the request --
session handler: 0 held
[0,[false,true],2]
-- a permit lasts longer than the response --
1 held
0 held
