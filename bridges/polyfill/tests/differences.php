<?php

/**
 * Lists how the .phpt of the extension differ for this package.
 *
 * 'without' has tests that cannot run, with the reason. 'with' names the tests of a folder that
 * run. The other tests of that folder do not run, because they read counters, need a segment or
 * make more calls than this package can. 'cut' has lines that are removed from a test, and
 * 'replace' has other lines for it, by reason.
 */

return [
    'without' => [
        '01_token_bucket/lockout_cancel' => 'cancel() throws LogicException.',
        '01_token_bucket/reservation_time_limit' => 'PHP code does not run after the time limit, so tokens that were reserved for a wait stay taken.',
        '01_token_bucket/quota_calendar' => 'quota_windows compares the same windows with those of the extension.',
        '01_token_bucket/wait_profiler' => 'The test builds a profiler and starts a PHP without this package.',
        '10_concurrency/max_waiting' => 'acquire() with $maxWaiting throws LogicException.',
        '10_concurrency/named_segment' => 'There is no segment.',
        '10_concurrency/wait_interrupted' => 'PHP code cannot tell that a handler has run between two sleeps, so acquire() may go on. The test of wait() has one sleep.',
        '10_concurrency/unavailable' => 'The test starts a PHP without this package, whose kernel refuses calls of the extension.',
        '10_concurrency/redis' => 'There are no storages of servers.',
        '10_concurrency/redis_outage' => 'There are no storages of servers.',
        '10_concurrency/redis_requests' => 'There are no storages of servers.',
        '01_token_bucket/wait_system_calls' => 'The test counts the system calls of a PHP without this package, and PHP code makes others.',
    ],
    'with' => [
        '02_shared_memory' => ['race', 'wait_race'],
        '03_php_fpm' => ['workers_killed'],
    ],
    'cut' => [
        'PHP functions accept more arguments than they declare.' => [
            'attempt_all_error' => ['    fn() => TokenBucket::attemptAll([$bucket], 1, 2),', 'ArgumentCountError: TokenBucket::attemptAll() expects at most 2 arguments, 3 given'],
            'attempt_each_error' => ['    fn() => TokenBucket::attemptEach([$bucket], 1),', 'ArgumentCountError: TokenBucket::attemptEach() expects exactly 1 argument, 2 given'],
            'construct_error' => ["    fn() => new TokenBucket(\$storage, 'x', 1, 1, 1),", 'ArgumentCountError: TokenBucket::__construct() expects exactly 4 arguments, 5 given'],
            'arguments_error' => [
                'echo thrown(fn () => $limit->acquire(1, 2, 3)), "\n";',
                'echo thrown(fn () => $limit->held(1)), "\n";',
                'echo thrown(fn () => $seven->release(1)), "\n";',
                'echo thrown(fn () => $seven->renew(1)), "\n";',
                'ArgumentCountError: TokenBucket\ConcurrencyLimit::acquire() expects at most 2 arguments, 3 given',
                'ArgumentCountError: TokenBucket\ConcurrencyLimit::held() expects exactly 0 arguments, 1 given',
                'ArgumentCountError: TokenBucket\Permit::release() expects exactly 0 arguments, 1 given',
                'ArgumentCountError: TokenBucket\Permit::renew() expects exactly 0 arguments, 1 given',
            ],
            'fake_clock' => ['echo thrown(fn() => $storage->now(1)), "\n";', 'ArgumentCountError: TokenBucketStorageMemory::now() expects exactly 0 arguments, 1 given'],
            'methods_error' => [
                '    echo thrown(fn() => $bucket->$method(...array_fill(0, $most + 1, 1))), "\n";',
                'ArgumentCountError: TokenBucket::consume() expects at most 1 argument, 2 given',
                'ArgumentCountError: TokenBucket::…() expects at most 2 arguments, 3 given',
                'ArgumentCountError: TokenBucket::…() expects at most 1 argument, 2 given',
                'echo thrown(fn() => $bucket->wait(1, 2, 3)), "\n";',
                'ArgumentCountError: TokenBucket::wait() expects at most 2 arguments, 3 given',
                'echo thrown(fn() => $bucket->reset(1)), "\n";',
                'ArgumentCountError: TokenBucket::reset() expects exactly 0 arguments, 1 given',
                'echo thrown(fn() => TokenBucket\status(1)), "\n";',
                'ArgumentCountError: TokenBucket\status() expects exactly 0 arguments, 1 given',
            ],
            'storage_error' => [
                '        fn() => $storage->prepare(1),',
                'ArgumentCountError: …::prepare() expects exactly 0 arguments, 1 given',
                'echo thrown(fn() => new TokenBucketStorageMemory(1)), "\n";',
                'ArgumentCountError: TokenBucketStorageMemory::__construct() expects exactly 0 arguments, 1 given',
                'echo thrown(fn() => new TokenBucketStorageSharedMemory(\'a\', \'b\')), "\n";',
                'ArgumentCountError: TokenBucketStorageSharedMemory::__construct() expects at most 1 argument, 2 given',
            ],
        ],
        'Reflection makes objects of PHP classes without their constructors.' => [
            'arguments_error' => [
                "echo thrown(fn () => (new ReflectionClass('TokenBucket\Permit'))->newInstanceWithoutConstructor()), \"\\n\";",
                'ReflectionException: Class TokenBucket\Permit is an internal class marked as final that cannot be instantiated without invoking its constructor',
            ],
            'decision_object' => ["print_values(thrown(fn() => (new ReflectionClass('TokenBucket\Decision'))->newInstanceWithoutConstructor()) !== 'nothing thrown');", "true\nException: Serialization"],
            'objects' => [
                'echo thrown(fn() => (new ReflectionClass($memory))->newInstanceWithoutConstructor()), "\n";',
                'echo thrown(fn() => (new ReflectionClass($shared))->newInstanceWithoutConstructor()), "\n";',
                'ReflectionException: Class TokenBucketStorageMemory is an internal class marked as final that cannot be instantiated without invoking its constructor',
                'ReflectionException: Class TokenBucketStorageSharedMemory is an internal class marked as final that cannot be instantiated without invoking its constructor',
            ],
        ],
    ],
    'replace' => [
        "PHP's own error names the class." => [
            'objects' => ['Error: Call to undefined method consume()' => 'Error: Call to undefined method stdClass::consume()'],
        ],
        'The trace has the functions of this package.' => [
            'userland_storage_error' => [
                '--EXPECT--' => '--EXPECTF--',
                "Failing->consume\nTokenBucket->consume" => "Failing->consume\nTokenBucket->{closure%S\nTokenBucket\Polyfill\Question->isGrantedInPhp\nTokenBucket\Polyfill\Question->isGranted\nTokenBucket->consume",
            ],
        ],
        'A call takes a hundred times as long, and loses no smaller pieces of memory.' => [
            'leaks' => ['$run(20_000);' => '$run(1_000);', '< 20_000,' => '< 1_000,'],
        ],
        'PHP names types with null.' => [
            'quota_error' => ['must be of type DateTimeInterface, string given' => 'must be of type ?DateTimeInterface, string given'],
        ],
        'There are no storages of servers.' => [
            'arguments_error' => [
                "new TokenBucketStorageRedis('redis://127.0.0.1:1'), new TokenBucketStorageMemcached('127.0.0.1:1'), new TokenBucketStoragePDO(new PDO('sqlite::memory:'), 'limits'), " => '',
                "nothing thrown\nLogicException" => 'LogicException',
                'keep permits (3 times)' => 'keep permits',
            ],
            'garbage_weak_map' => ["    new TokenBucketStorageRedis('redis://127.0.0.1:1', onFailure: TokenBucket\OnFailure::Allow),\n" => '', "--\n3\n0\n" => "--\n2\n0\n"],
        ],
        "PHP's own errors name the caller's file, which differs between the modes." => [
            'coercion' => array_combine(
                $lines = array_map(
                    static fn ($method) => "TokenBucket::$method(): Argument #1 (\$tokens) must be of type int|float, %rbool|true%r given\n",
                    ['attempt', 'peek', 'refund']
                ),
                array_map(static fn ($line) => $line . str_replace('%rbool|true%r', 'string', $line), $lines)
            ),
        ],
    ],
];
