--TEST--
Untyped parameters are always converted as in weak mode, and typed ones only without strict_types
--FILE--
<?php
require __DIR__ . '/../../tools/testkit/php/both_modes.php';
require __DIR__ . '/coercion.inc.php';

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
