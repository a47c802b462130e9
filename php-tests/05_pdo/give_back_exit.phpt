--TEST--
exit() in a batch ends the script even if giving tokens back fails
--EXTENSIONS--
pdo
pdo_sqlite
pcntl
--FILE--
<?php
require __DIR__ . '/give_back.inc.php';

$ways = [
    'exit' => [fn () => exit("exit\n"), null],
    'exit, then an exception' => [fn () => exit("exit\n"), fn () => throw new DomainException('the refund failed')],
    'exit, then the database fails' => [fn () => exit("exit\n"), fn () => throw new PDOException('no')],
    'an exception, then exit' => [fn () => throw new LogicException('the charge failed'), fn () => exit("exit\n")],
];
foreach ($ways as $way => [$charge, $giveBack]) {
    if (($pid = pcntl_fork()) === 0) {
        echo "-- $way --\n";
        $first = new TokenBucket(storage('first'), 'first', 10, 1e-6);
        register_shutdown_function(fn () => print("ended\n"));
        try {
            batch($first, $charge, $giveBack);
        } catch (Throwable $e) {
            echo 'caught ', get_class($e), "\n";
        }
        echo "went on\n";
        exit;
    }
    pcntl_waitpid($pid, $status);
}
?>
--EXPECT--
-- exit --
exit
ended
-- exit, then an exception --
exit
ended
-- exit, then the database fails --
exit
ended
-- an exception, then exit --
exit
ended
