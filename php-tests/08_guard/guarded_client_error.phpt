--TEST--
The guard: invalid arguments of a GuardedClient throw and change nothing
--SKIPIF--
<?php require __DIR__ . '/skipif.inc.php'; ?>
--FILE--
<?php
require __DIR__ . '/clients.inc.php';
require __DIR__ . '/../../tools/testkit/php/child.php';

fold_equal_lines();
$path = segment_path();
$ini = ['tokenbucket.shm_path' => $path];
$fpm = new Fpm(ini: $ini + ['tokenbucket.guard' => 'ip 2/day; ip+path 9/day; all 9/day']);
echo statuses($fpm, $fpm->script('script', SCRIPT), ['REMOTE_ADDR' => '127.0.0.1']), "\n";

$code = <<<'PHP'
    use TokenBucket\GuardedClient;

    $thrown = function (callable $call): void {
        try {
            $call();
            echo "nothing thrown\n";
        } catch (Throwable $e) {
            echo get_class($e), ': ', $e->getMessage(), "\n";
        }
    };
    $new = fn (mixed ...$arguments) => $thrown(fn () => new GuardedClient(...$arguments));
    echo "-- the limit\n";
    foreach (['', 'ip 2/day; ip 3/day', 'ip 3/day', "ip\0 2/day", "<b>\n", 'guard: ', 'guard: stale', 'guard_local', 'all 2/day'] as $limit) {
        $new($limit, ['127.0.0.1']);
    }
    echo "-- the values\n";
    foreach ([[], ['x'], ["127.0.0.1\0"], ['127.0.0.1', 'x'], [1], [null], [['127.0.0.1']], ['127.0.0.1/32']] as $values) {
        $new('ip 2/day', $values);
    }
    $new('ip+path 9/day', ['127.0.0.1']);
    $new('all 9/day', ['127.0.0.1']);
    echo "-- types\n";
    $new();
    $new('ip 2/day');
    $new([], []);
    $new('ip 2/day', '127.0.0.1');
    $new('ip 2/day', ['127.0.0.1'], []);
    echo "-- the object\n";
    $address = '127.0.0.1';
    $client = new GuardedClient(limit: 'IP  2/DAY burst 2', values: ['any key' => &$address]);
    echo "$client->limit, $client->client, ", $client->peek()->remaining, "\n";
    $thrown(fn () => $client->__construct('ip 2/day', ['127.0.0.1']));
    $thrown(fn () => clone $client);
    $thrown(fn () => serialize($client));
    $thrown(fn () => unserialize('O:25:"TokenBucket\\GuardedClient":0:{}'));
    $thrown(fn () => (new ReflectionClass($client))->newInstanceWithoutConstructor());
    $thrown(fn () => $client->limit = 'all 9/day');
    $thrown(fn () => (new ReflectionProperty($client, 'identifier'))->setValue($client, '192.0.2.1'));
    echo 'a closure in the scope of the class: ', json_encode(@Closure::bind(fn () => $this->identifier, $client, GuardedClient::class)), "\n";
    $thrown(fn () => $client->identifier);
    $thrown(fn () => $client->x = 1);
    foreach ([-1.0, NAN, INF, 2.0 ** 31, 'x'] as $seconds) {
        $thrown(fn () => $client->block($seconds));
    }
    echo $client->peek()->remaining, "\n";
    echo "-- a block of no time leaves a token\n", $client->block(0)->remaining, "\n";
    $client->reset();
    echo $client->peek()->remaining, ", rows: ", count(TokenBucket\status()['decisions']), "\n";
    PHP;
echo php_run($code, $ini);
echo "-- private memory\n", php_run('try { new TokenBucket\GuardedClient("", []); } catch (TokenBucket\Exception $e) { echo get_class($e), ": ", $e->getMessage(), "\n"; }');
?>
--EXPECT--
200
-- the limit
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must be one limit (2 times)
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must be a limit that the guard has used, "guard: ip 3/day burst 3" given
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must have a space and a whole number at position 3, "\x00 2/day" given
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must have a key: ip, net, host, path, header:Name or all at position 1, "\x3cb>\n" given
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must be one limit
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must have a key: ip, net, host, path, header:Name or all at position 1, "stale" given
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must have a key: ip, net, host, path, header:Name or all at position 1, "guard_local" given
ValueError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must be a limit that the guard has used, "guard: all 2/day burst 2" given
-- the values
ValueError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must have a value for each key of the limit in its order, 1 in all
ValueError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must have an address such as 192.0.2.1 or 2001:db8::1 for the key "ip" (2 times)
ValueError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must have a value for each key of the limit in its order, 1 in all
TypeError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must contain only strings (3 times)
ValueError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must have an address such as 192.0.2.1 or 2001:db8::1 for the key "ip"
ValueError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must have a value for each key of the limit in its order, 2 in all
ValueError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must be empty, because all clients share the bucket
-- types
ArgumentCountError: TokenBucket\GuardedClient::__construct() expects at least 2 arguments, 0 given
ArgumentCountError: TokenBucket\GuardedClient::__construct() expects at least 2 arguments, 1 given
TypeError: TokenBucket\GuardedClient::__construct(): Argument #1 ($limit) must be of type string, array given
TypeError: TokenBucket\GuardedClient::__construct(): Argument #2 ($values) must be of type array, string given
TypeError: TokenBucket\GuardedClient::__construct(): Argument #3 ($password) must be of type ?string, array given
-- the object
ip 2/day burst 2, 127.0.0.1, 1
Error: Cannot modify readonly property TokenBucket\GuardedClient::$limit
Error: Trying to clone an uncloneable object of class TokenBucket\GuardedClient
Exception: Serialization of 'TokenBucket\GuardedClient' is not allowed
Exception: Unserialization of 'TokenBucket\GuardedClient' is not allowed
ReflectionException: Class TokenBucket\GuardedClient is an internal class marked as final that cannot be instantiated without invoking its constructor
Error: Cannot modify readonly property TokenBucket\GuardedClient::$limit
Error: Cannot modify readonly property TokenBucket\GuardedClient::$identifier
a closure in the scope of the class: null
Error: Cannot access private property TokenBucket\GuardedClient::$identifier
Error: Cannot create dynamic property TokenBucket\GuardedClient::$x
ValueError: TokenBucket\GuardedClient::block(): Argument #1 ($seconds) must be greater than or equal to 0
ValueError: TokenBucket\GuardedClient::block(): Argument #1 ($seconds) must be finite (2 times)
ValueError: TokenBucket\GuardedClient::block(): Argument #1 ($seconds) must be less than 2^60 nanoseconds (36 years)
TypeError: TokenBucket\GuardedClient::block(): Argument #1 ($seconds) must be of type float, string given
1
-- a block of no time leaves a token
1
2, rows: 3
-- private memory
TokenBucket\AccessDeniedException: The command line shares no memory with the site, because tokenbucket.shm_path names no segment
