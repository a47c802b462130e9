--TEST--
Untyped parameters are always converted as in weak mode, and typed ones only without strict_types
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/both_modes.php';

class Name
{
    public function __toString(): string
    {
        return 'named';
    }
}

class Unnamed
{
    public function __toString(): string
    {
        throw new DomainException('no name');
    }
}

/** Makes calls with values of all kinds, in weak or in strict mode. */
function coerce(callable $new, callable $call): void
{
    $storage = new TokenBucketStorageMemory;
    $left = fn(string $id) => (new TokenBucket($storage, $id, 10, 0.001))->peek()->remaining;

    echo "-- identifiers --\n";
    foreach (['42' => 42, '1.5' => 1.5, '1' => true, '' => false, 'named' => new Name] as $string => $value) {
        $before = $left((string) $string);
        $new(TokenBucket::class, $storage, $value, 10, 0.001)->consume();
        echo json_encode((string) $string), ': ', $before - $left((string) $string), "\n";
    }
    echo 'null: ', thrown(fn() => @$new(TokenBucket::class, $storage, null, 10, 0.001)), ' ', error_get_last()['message'] ?? 'no message', "\n";
    echo thrown(fn() => $new(TokenBucket::class, $storage, [], 10, 1)), "\n";
    echo thrown(fn() => $new(TokenBucket::class, $storage, new stdClass, 10, 1)), "\n";
    echo thrown(fn() => $new(TokenBucket::class, $storage, new Unnamed, 10, 1)), "\n";

    echo "-- capacity and rate --\n";
    foreach (['10', '2.5', ' 1', '1 ', '1e1', true, 3, 0.5, '10abc', 'abc', '', [], new stdClass, new Name] as $value) {
        $shown = is_object($value) ? get_class($value) : json_encode($value);
        echo "$shown: ";
        try {
            $bucket = $new(TokenBucket::class, $storage, "n $shown", $value, 1);
            echo $bucket->peek()->capacity, ' ';
            $bucket = $new(TokenBucket::class, $storage, "n $shown", 1, $value);
            $bucket->consume();
            echo $bucket->peek()->retryAfter, "\n";
        } catch (TypeError $e) {
            echo $e->getMessage(), "\n";
        }
    }

    echo "-- consume(), untyped --\n";
    foreach (['2', '2.5', ' 1', true, false, 2, 0.5, '2abc', 'abc', [], new stdClass] as $value) {
        $bucket = $new(TokenBucket::class, $storage, 'c' . bin2hex(random_bytes(8)), 10, 1);
        try {
            $granted = $call($bucket, 'consume', $value);
            echo json_encode($value), ': ', json_encode($granted), ' ', 10 - $bucket->peek(0)->resetAfter, "\n";
        } catch (TypeError $e) {
            echo json_encode($value), ': ', $e->getMessage(), "\n";
        }
    }

    echo "-- typed: int|float \$tokens --\n";
    foreach (['attempt', 'peek', 'refund'] as $method) {
        foreach (['2', '2.5', true, 2, 0.5, '2abc'] as $value) {
            $bucket = $new(TokenBucket::class, $storage, 't' . bin2hex(random_bytes(8)), 10, 1);
            $bucket->consume(5);
            try {
                $call($bucket, $method, $value);
                echo "$method(", json_encode($value), '): ', 10 - $bucket->peek(0)->resetAfter, "\n";
            } catch (TypeError $e) {
                echo $e->getMessage(), "\n";
            }
        }
    }

    echo "-- typed: float --\n";
    $bucket = $new(TokenBucket::class, $storage, 'w', 10, 1);
    foreach ([1, 0.5, '1'] as $timeout) {
        try {
            echo json_encode($call($bucket, 'wait', $timeout)->allowed), "\n";
        } catch (TypeError $e) {
            echo $e->getMessage(), "\n";
        }
    }
    foreach ([1, 0.5, '1'] as $seconds) {
        try {
            echo json_encode($call($storage, 'advance', $seconds)), "\n";
        } catch (TypeError $e) {
            echo $e->getMessage(), "\n";
        }
    }

    echo "-- typed: string, bool --\n";
    $decision = $bucket->peek();
    foreach ([['p', true], [5, false], ['p', 1]] as $arguments) {
        try {
            echo $call($decision, 'headers', ...$arguments)['RateLimit'], "\n";
        } catch (TypeError $e) {
            echo $e->getMessage(), "\n";
        }
    }

    echo "-- the storage interface, untyped --\n";
    $yes = fn() => true;
    foreach ([[7, '1000', '10000'], [7.5, true, 10000], [new Name, 1000.0, ' 10000']] as $arguments) {
        echo json_encode($call($storage, 'consume', ...[...$arguments, $yes])), "\n";
    }
    echo $left('7'), ' ', $left('7.5'), ' ', $left('named'), "\n";
    echo json_encode($call($storage, 'bootstrap', 8, (string) (microtime(true) - 4500))), ' ', $left('8'), "\n";
}

fold_equal_lines();
in_both_modes(coerce(...));
?>
--EXPECTF--
-- identifiers --
"42": 1
"1.5": 1
"1": 1
"": 1
"named": 1
null: nothing thrown TokenBucket::__construct(): Passing null to parameter #2 ($identifier) of type string is deprecated
TypeError: TokenBucket::__construct(): Argument #2 ($identifier) must be of type string, array given
TypeError: TokenBucket::__construct(): Argument #2 ($identifier) must be of type string, stdClass given
DomainException: no name
-- capacity and rate --
"10": 10 0.1
"2.5": 2.5 0.4
" 1": 1 1
"1 ": 1 1
"1e1": 10 0.1
true: 1 1
3: 3 0.333333333
0.5: 0.5 2
"10abc": TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be of type int|float, string given
"abc": TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be of type int|float, string given
"": TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be of type int|float, string given
[]: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be of type int|float, array given
stdClass: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be of type int|float, stdClass given
Name: TokenBucket::__construct(): Argument #3 ($bucket_capacity) must be of type int|float, Name given
-- consume(), untyped --
"2": true 8
"2.5": true 7.5
" 1": true 9
true: true 9
false: true 10
2: true 8
0.5: true 9.5
"2abc": TokenBucket::consume(): Argument #1 ($token_count) must be of type int|float, string given
"abc": TokenBucket::consume(): Argument #1 ($token_count) must be of type int|float, string given
[]: TokenBucket::consume(): Argument #1 ($token_count) must be of type int|float, array given
{}: TokenBucket::consume(): Argument #1 ($token_count) must be of type int|float, stdClass given
-- typed: int|float $tokens --
attempt("2"): 3
attempt("2.5"): 2.5
attempt(true): 4
attempt(2): 3
attempt(0.5): 4.5
TokenBucket::attempt(): Argument #1 ($tokens) must be of type int|float, string given
peek("2"): 5
peek("2.5"): 5
peek(true): 5
peek(2): 5
peek(0.5): 5
TokenBucket::peek(): Argument #1 ($tokens) must be of type int|float, string given
refund("2"): 7
refund("2.5"): 7.5
refund(true): 6
refund(2): 7
refund(0.5): 5.5
TokenBucket::refund(): Argument #1 ($tokens) must be of type int|float, string given
-- typed: float --
true (3 times)
null (3 times)
-- typed: string, bool --
"p";r=9;t=9
"5";r=9;t=9
"p";r=9;t=9
-- the storage interface, untyped --
true (3 times)
9 9 8
null 4

-- under strict_types --
TokenBucket::attempt(): Argument #1 ($tokens) must be of type int|float, string given (2 times)
TokenBucket::attempt(): Argument #1 ($tokens) must be of type int|float, %rbool|true%r given
TokenBucket::peek(): Argument #1 ($tokens) must be of type int|float, string given (2 times)
TokenBucket::peek(): Argument #1 ($tokens) must be of type int|float, %rbool|true%r given
TokenBucket::refund(): Argument #1 ($tokens) must be of type int|float, string given (2 times)
TokenBucket::refund(): Argument #1 ($tokens) must be of type int|float, %rbool|true%r given
TokenBucket::wait(): Argument #1 ($timeout) must be of type float, string given
TokenBucketStorageMemory::advance(): Argument #1 ($seconds) must be of type float, string given
TokenBucket\Decision::headers(): Argument #1 ($policy) must be of type string, int given
TokenBucket\Decision::headers(): Argument #2 ($legacy) must be of type bool, int given
