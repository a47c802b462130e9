--TEST--
The guard: loops in processes without a common parent count apart, and say so
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

/** The beginning of a script that meets the others: $argv[1] is the number of these. */
const MEETS = <<<'PHP'
    <?php
    function meet(string $name): void
    {
        global $argv;
        file_put_contents(__DIR__ . "/$name", '.', FILE_APPEND);
        for ($end = hrtime(true) + 60e9; strlen(file_get_contents(__DIR__ . "/$name")) < (int) $argv[1] && hrtime(true) < $end; usleep(1_000));
    }
    PHP;
const LOOP = MEETS . <<<'PHP'

    meet('started');
    TokenBucket\guard(['REMOTE_ADDR' => '192.0.2.1']);
    $guard = TokenBucket\status()['guard'];
    meet('served');
    echo json_encode($guard['in_force']), ', ', $guard['reason'], "\n";
    PHP;
const OTHER = MEETS . "\nmeet('started'); meet('served');";
const FORKS = MEETS . <<<'PHP'

    pcntl_fork();
    meet('started');
    TokenBucket\guard(['REMOTE_ADDR' => '192.0.2.1']);
    $guard = TokenBucket\status()['guard'];
    meet('served');
    fwrite(STDOUT, json_encode($guard['in_force']) . "\n");
    pcntl_wait($status);
    PHP;

/** Runs scripts at the same time, and prints what they print and log. */
function together(string $what, int $count, array $scripts, array $ini = []): void
{
    $folder = temporary_folder();
    $ini += ['tokenbucket.guard' => 'ip 1/day burst 9', 'error_log' => "$folder/log"];
    $running = [];
    foreach ($scripts as $index => $code) {
        file_put_contents($file = "$folder/" . substr(md5($code), 0, 6) . '.php', $code);
        // Another port, as with a server's script.
        $running[] = popen('exec ' . php_command($ini) . " -f $file -- $count 127.0.0.1:800$index", 'r');
    }
    echo "== $what\n", implode(array_map(stream_get_contents(...), $running));
    echo is_file("$folder/log") ? implode(array_unique(preg_replace('/^\[.*?\] /', '', file("$folder/log")))) : '';
}

together('one process', 1, [LOOP]);
together('beside another script', 2, [LOOP, OTHER]);
together('two processes', 2, [LOOP, LOOP]);
together('two processes that share a segment', 2, [LOOP, LOOP], ['tokenbucket.shm_path' => temporary_folder() . '/segment']);
together('two processes of one parent', 2, [FORKS]);
?>
--EXPECT--
== one process
true, 
== beside another script
true, 
== two processes
false, each process of this script has buckets of its own while tokenbucket.shm_path is empty
false, each process of this script has buckets of its own while tokenbucket.shm_path is empty
tokenbucket: guard: tokenbucket.guard is not in force, because each process of this script has buckets of its own while tokenbucket.shm_path is empty
== two processes that share a segment
true, 
true, 
== two processes of one parent
true
true
