--TEST--
Hosts that disable functions of PHP, or whose disk is full, have buckets and permits
--SKIPIF--
<?php
exec('unshare --mount --pid --fork mount -t tmpfs tmpfs /mnt 2>&1', $output, $code);
$code === 0 || die('skip there are no mounts of a test\'s own');
?>
--FILE--
<?php
require __DIR__ . '/../../../tools/testkit/php/testkit.php';

$folder = new_folder();
file_put_contents("$folder/calls.php", '<?php require ' . var_export(realpath(__DIR__ . '/../src/autoload.php'), true) . ';' . <<<'PHP'

    // A full disk makes PHP warn, and the handlers of frameworks throw.
    function_exists('set_error_handler') && set_error_handler(fn (int $level, string $message) => throw new ErrorException($message));
    $storage = new TokenBucketStorageSharedMemory('x');
    $bucket = new TokenBucket($storage, 'x', 2, 0.001);
    $limit = new TokenBucket\ConcurrencyLimit($storage, 'x', 2);
    $lockout = new TokenBucket\Lockout($storage, 'x', 1);
    foreach ([
        'consume' => fn () => [$bucket->consume(), $bucket->consume(), $bucket->consume()],
        'lockout' => fn () => [$lockout->attempt()->allowed, $lockout->attempt()->allowed],
        'permits' => function () use ($limit) {
            $permits = [$limit->acquire(), $limit->acquire(), $limit->acquire()];
            $held = [...array_map(fn ($permit) => $permit->decision->allowed, $permits), $limit->held(), TokenBucket\status()['permits']['held']];
            $permits[0]->release();
            return [...$held, $limit->held()];
        },
        'reservation' => fn () => (new TokenBucket($storage, 'y', 2, 1))->reserve()->decision->allowed,
    ] as $what => $call) {
        if (isset($argv[1]) && $argv[1] !== $what) {
            continue;
        }
        try {
            echo "$what: ", json_encode($call()), "\n";
        } catch (Throwable $e) {
            echo "$what: ", get_class($e), ': ', $e->getMessage(), "\n";
        }
    }
    PHP);
$php = fn (string $in, string $disabled, string $only = ''): string => escapeshellarg(PHP_BINARY) . " -n -d disable_functions=$disabled -d tokenbucket.polyfill_folder=$in $folder/calls.php $only 2>&1";
foreach (['', 'tmpfile,getmypid,realpath,set_error_handler,posix_geteuid'] as $disabled) {
    echo "== disabled: $disabled\n", shell_exec($php(new_folder(), $disabled));
}
echo "== a full disk\n";
$first = 'require "' . realpath(__DIR__ . '/../src/autoload.php') . '"; (new TokenBucket(new TokenBucketStorageSharedMemory, "other", 1, 1))->consume();';
$first = escapeshellarg(PHP_BINARY) . ' -n -d tokenbucket.polyfill_folder=/mnt -r ' . escapeshellarg($first);
$full = "mount -t tmpfs -o size=128K,mode=700 tmpfs /mnt && $first && (head -c 1M /dev/zero >/mnt/full 2>/dev/null; " . $php('/mnt', '', 'permits') . ')';
echo shell_exec('unshare --mount --pid --fork --kill-child sh -c ' . escapeshellarg($full));
?>
--EXPECT--
== disabled: 
consume: [true,true,false]
lockout: [true,false]
permits: [true,true,false,2,2,1]
reservation: true
== disabled: tmpfile,getmypid,realpath,set_error_handler,posix_geteuid
consume: [true,true,false]
lockout: [true,false]
permits: [true,true,false,2,2,1]
reservation: true
== a full disk
permits: [true,true,false,2,2,1]
