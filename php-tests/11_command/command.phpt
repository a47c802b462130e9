--TEST--
The command tokenbucket shows, frees and blocks a client of workers that share a named segment
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/testkit.php';

$path = temporary_folder() . '/segment';
$ini = ['tokenbucket.shm_path' => $path, 'tokenbucket.track_identifiers' => '1'];
$limit = '--capacity=2 --rate=2/day';
$command = fn (string $arguments, array $ini): string => php_run_file(__DIR__ . '/../../bin/tokenbucket', $ini, "$arguments 2>&1; echo \"status $?\"");
/** Calls of another process, as a worker makes them. */
$calls = fn (int $count): string => php_run(sprintf(
    '$bucket = new TokenBucket(new TokenBucketStorageSharedMemory, "alice", 2, 2 / 86400); for ($i = 0; $i < %d; $i++) { echo (int) $bucket->consume(); }',
    $count,
), $ini) . "\n";

echo '-- a client uses its tokens: ', $calls(3);
echo preg_replace('/[\d.]+ s$/m', 'N s', $command("peek alice $limit", $ini));
echo preg_replace('/ +/', ' ', $command('list', $ini));
echo "-- an operator frees it\n", $command("reset alice $limit", $ini), $calls(3);
$command("reset alice $limit", $ini);
echo "-- an operator blocks it\n", preg_replace('/[\d.]+ s$/m', 'N s', $command("block alice 900 $limit", $ini)), $calls(1);
echo "-- a reset ends the block\n", $command("reset alice $limit", $ini), $calls(1);
echo "-- JSON\n", $command("peek --json $limit -- --x", $ini);
echo "-- wrong commands\n";
foreach (['jump', 'peek', 'peek a', "peek a --capacity=0 --rate=1/day", 'peek a --capacity=1 --rate=1/week', 'peek a --capacity=1e400 --rate=1/day', 'list --color', "block a -5 $limit", 'list', "reset a $limit --namespace=Alice", "reset a $limit --prefix=a:", 'list --redis=redis://127.0.0.1:1', "peek a $limit --table=a", 'check x --guard=a', 'advise x --capacity=1', 'advise x --decisions=y', "advise x --guard='ip 1/day' --hit=1%"] as $arguments) {
    echo $command($arguments, $arguments === 'list' ? [] : $ini);
}
check($command('--help', []) === $command('help', []) && $command('advise --help', []) === $command('help', []) && str_starts_with($command('help', []), 'Usage:'), 'the help');
preg_match_all('/(?<=--)[a-z]+/', $command('help', []), $options);
$packaged = fn (string $name): string => stripslashes(file_get_contents(__DIR__ . "/../../packaging/tokenbucket.$name"));
foreach (array_unique($options[0]) as $option) {
    check(str_contains($packaged('1'), "--$option") && str_contains($packaged('bash-completion'), "--$option"), "--$option in the manual and the completion");
}
echo "-- bytes that would control a terminal\n", $command('peek ' . escapeshellarg("\e[31m\n") . " $limit", $ini);
?>
--EXPECT--
-- a client uses its tokens: 110
alice: 0 of 2 tokens, the next token in N s
status 0
 2 granted 1 denied shared_memory 

Most denied:
 1 denied alice shared_memory 
status 0
-- an operator frees it
alice: 2 of 2 tokens
status 0
110
-- an operator blocks it
alice: 0 of 2 tokens, the next token in N s
status 0
0
-- a reset ends the block
alice: 2 of 2 tokens
status 0
1
-- JSON
{"identifier":"--x","allowed":true,"remaining":2,"capacity":2,"retryAfter":0,"resetAfter":0,"reason":"granted","fallback":false,"refusedBy":null,"unit":null}
status 0
-- wrong commands
tokenbucket: unknown command: jump
Try: tokenbucket help
status 2
tokenbucket: wrong number of arguments for peek
Try: tokenbucket help
status 2
tokenbucket: --capacity must be a number greater than 0
Try: tokenbucket help
status 2
tokenbucket: --capacity must be a number greater than 0, 0 given
Try: tokenbucket help
status 2
tokenbucket: --rate must be a number, "/" and second, minute, hour or day
Try: tokenbucket help
status 2
tokenbucket: --capacity must be a number greater than 0, 1e400 given
Try: tokenbucket help
status 2
tokenbucket: unknown option: --color
Try: tokenbucket help
status 2
tokenbucket: SECONDS must be a number greater than 0, -5 given
Try: tokenbucket help
status 2
tokenbucket: tokenbucket.shm_path is not set, so this process does not share the buckets of the site
status 1
tokenbucket: no process has used the namespace 'Alice'; known are: ''
status 1
tokenbucket: --prefix does not apply to shared memory
Try: tokenbucket help
status 2
tokenbucket: list has no option --redis
Try: tokenbucket help
status 2
tokenbucket: peek without --guard has no option --table
Try: tokenbucket help
status 2
tokenbucket: check has no option --guard
Try: tokenbucket help
status 2
tokenbucket: advise without --guard has no option --capacity
Try: tokenbucket help
status 2
tokenbucket: advise without --guard has no option --decisions
Try: tokenbucket help
status 2
tokenbucket: advise with --guard has no option --hit
Try: tokenbucket help
status 2
-- bytes that would control a terminal
\x1b[31m\x0a: 2 of 2 tokens
status 0
