<?php

/**
 * Declares the classes and functions of the tokenbucket extension, for IDEs and static analysers.
 *
 * Times are float seconds. Token counts may be fractions. scripts/declare.php generates the
 * extension's tables from this file and explains the tags implementation, strict-properties and
 * not-serializable.
 */

namespace {
    /**
     * Keeps the state of buckets. The extension's own storages implement this interface natively.
     * Any PHP class may implement it, too.
     *
     * A storage works in seconds, not in tokens. It gets the cost of a call and the span of a full
     * bucket in seconds, so it needs neither the capacity nor the rate.
     *
     * Over a storage that is written in PHP, consume(), attempt(), attemptEach() and wait() work.
     * peek(), charge(), settle(), reserve(), refund(), reset(), block(), drain() and attemptAll()
     * throw a LogicException.
     *
     * @implementation storage::interface::StorageState
     */
    interface TokenBucketStorage
    {
        /** Prepares the storage, for example creates a table. TokenBucket never calls it. */
        public function prepare();

        /**
         * Creates the bucket's record if it is missing. Never overwrites a record.
         *
         * @param string $identifier the bucket's name
         * @param float $microtime the instant at which the bucket was, or will be, empty: a
         *     wall-clock second, as from microtime(true)
         */
        public function bootstrap($identifier, $microtime);

        /**
         * Takes tokens atomically if the bucket holds them.
         *
         * @param string $identifier the bucket's name
         * @param float $microtime the cost: seconds in which the tokens to take are refilled
         * @param float $full_microtime the span of the bucket: seconds in which the whole bucket is
         *     refilled
         * @param \Closure(): bool $bootstrap_closure called if the bucket has no record. A falsy
         *     result denies the call
         * @return bool true if the tokens were taken
         */
        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure);
    }

    /**
     * Limits a rate with a bucket that holds at most $bucket_capacity tokens and gains
     * $tokens_per_second.
     *
     * An object is cheap, because it stores and contacts nothing until tokens are taken. Create an
     * object in each request. Objects that share a storage and an identifier share one state, even
     * if their capacity or rate differs.
     *
     * The class is not final. Some methods and properties are untyped so that subclasses written
     * for the userland class of this name still compile. Untyped parameters are converted even in
     * strict_types files, as in the userland class.
     *
     * Every method that takes a number of tokens throws a ValueError for a negative, infinite or
     * NAN number. A storage with OnFailure::Throw throws a TokenBucket\StorageException if it
     * fails. A denial never throws an exception.
     *
     * @implementation token_bucket::Bucket
     * @not-serializable
     */
    class TokenBucket
    {
        /** Seconds in a millisecond. */
        public const MILLISECOND = 0.001;
        /** Seconds in a second. */
        public const SECOND = 1;
        /** Seconds in a minute. */
        public const MINUTE = 60;
        /** Seconds in an hour. */
        public const HOUR = 3600;
        /** Seconds in a day. */
        public const DAY = 86400;
        /** Seconds in a week. */
        public const WEEK = 604800;
        /** The relative tolerance of compare_microtimes(). */
        public const MICROTIME_DELTA = 0.0001;

        private $_storage;

        /** The bucket's name. A subclass may change it. The next call uses the new value. */
        protected $_identifier;

        /** The most tokens that the bucket holds. A subclass may change it. */
        protected $_bucket_capacity;

        /** The tokens that the bucket gains in a second. A subclass may change it. */
        protected $_tokens_per_second;

        /**
         * Compares two times with the relative tolerance MICROTIME_DELTA.
         *
         * @param float $m1 seconds
         * @param float $m2 seconds
         * @return int 0 if the times are equal within the tolerance, 1 if $m1 is later, -1 if $m1
         *     is earlier
         */
        public static function compare_microtimes($m1, $m2) {}

        /**
         * Creates the object. Contacts no storage, because a bucket without a record is full.
         *
         * @param TokenBucketStorage $storage keeps the state of the bucket
         * @param string $identifier the bucket's name: any bytes, any length
         * @param int|float $bucket_capacity the most tokens that the bucket holds; greater than 0
         * @param int|float $tokens_per_second the tokens that the bucket gains in a second; greater
         *     than 0 and at most 1e15. The bucket must refill within 2^60 nanoseconds (36 years)
         * @throws ValueError if the capacity or the rate is out of range
         */
        public function __construct(TokenBucketStorage $storage, $identifier, $bucket_capacity, $tokens_per_second) {}

        /**
         * Takes tokens if the bucket holds them.
         *
         * @param int|float $token_count 0 or more. A call for more than the capacity is always
         *     denied
         * @return bool true if the tokens were taken
         */
        public function consume($token_count = 1) {}

        /**
         * Takes tokens if the bucket holds them, and returns the details.
         *
         * With a floor, the tokens are taken only if the bucket still holds $floor tokens
         * afterwards. So a call with a floor leaves tokens for more important calls without one. It
         * is denied with the reason 'below_floor' if only the floor denies it.
         *
         * Over a storage that is written in PHP, remaining is 0. retryAfter and resetAfter are
         * upper bounds, unless the bucket is in debt.
         *
         * @param int|float $tokens 0 or more. A call is always denied if $tokens and $floor exceed
         *     the capacity
         * @param int|float $floor the tokens that the call leaves in the bucket, 0 or more
         * @throws LogicException for a floor over a storage that is written in PHP
         */
        public function attempt(int|float $tokens = 1, int|float $floor = 0): TokenBucket\Decision {}

        /**
         * Returns the decision that attempt() would return now, and takes no tokens. A bucket
         * without a record is full.
         *
         * @param int|float $floor as in attempt()
         * @throws LogicException over a storage that is written in PHP
         */
        public function peek(int|float $tokens = 1, int|float $floor = 0): TokenBucket\Decision {}

        /**
         * Takes tokens, even if the bucket does not hold them.
         *
         * If the bucket holds too few tokens, it goes into debt, and denies calls until the debt is
         * repaid. The decision is a grant, and remaining may be negative. The decision is a denial
         * only if the store could not take the tokens. The reason is then 'unavailable',
         * 'table_full' or 'contended'.
         *
         * @param int|float $tokens 0 or more, also more than the capacity
         * @throws ValueError if the debt would take more than 2^60 nanoseconds (36 years) to repay.
         *     No tokens are taken then
         * @throws LogicException over a storage that is written in PHP
         */
        public function charge(int|float $tokens): TokenBucket\Decision {}

        /**
         * Charges or gives back the difference between the reserved tokens and the actual tokens.
         *
         * Call settle() after attempt($reserved) was allowed, when the work is done. Then exactly
         * $actual tokens are taken in all. The decision is as for charge().
         *
         * @param int|float $reserved the tokens that were taken
         * @param int|float $actual the tokens that the work needed
         * @throws ValueError as charge() does
         * @throws LogicException over a storage that is written in PHP
         */
        public function settle(int|float $reserved, int|float $actual): TokenBucket\Decision {}

        /**
         * Reserves the next tokens, in order of arrival. Returns the reservation, with the delay
         * until the tokens may be used.
         *
         * The tokens are taken at once, also if they are refilled later. If the wait would be
         * longer than $maxWait, the reservation is denied and takes nothing. A debt with which
         * _bootstrap() creates the bucket is part of the wait.
         *
         * @param float $maxWait seconds, 0 or more; INF for any wait
         * @throws LogicException over a storage that is written in PHP
         */
        public function reserve(int|float $tokens = 1, float $maxWait = INF): TokenBucket\Reservation {}

        /**
         * Takes tokens, and sleeps until the bucket holds them.
         *
         * Callers get their tokens in order of arrival, as with reserve(). Returns a denial at once
         * if the wait would be longer than $timeout. The wait may exceed $timeout by the rounding
         * of the time per token, or by a microsecond if that is longer. If a signal arrives that
         * PHP must handle, cancels the reservation and returns a denial with the reason
         * "interrupted" and the numbers of that instant. Over a storage that is written in PHP,
         * these numbers are estimates, and waiting callers get their tokens in no order. The sleep
         * blocks the whole process, also inside a fiber. In an event loop, call reserve() and set a
         * timer for its delay.
         *
         * @param float $timeout seconds, 0 or more; INF for any wait
         */
        public function wait(float $timeout, int|float $tokens = 1): TokenBucket\Decision {}

        /**
         * Returns tokens to the bucket, up to its capacity. Tokens that were never taken are added,
         * too.
         *
         * @throws LogicException over a storage that is written in PHP
         */
        public function refund(int|float $tokens = 1): void {}

        /**
         * Fills the bucket.
         *
         * @throws LogicException over a storage that is written in PHP
         */
        public function reset(): void {}

        /**
         * Blocks the bucket. No call for a token or more is granted for $seconds. Then the bucket
         * holds one token, and refills.
         *
         * If a bucket is blocked twice, the later end applies. reset() ends the block. A refund
         * gives back its tokens in a block, too, so that the block ends earlier. Reservations that
         * were made before the block keep their instants. Calls for less than a token, and calls
         * under another capacity or rate, may be granted before the end.
         *
         * The decision is as for charge(): a grant, with a negative remaining during the block.
         * While the store fails, OnFailure::Local blocks the bucket of this host only, and Allow
         * and Deny block nothing. On a remote storage the call takes two round trips.
         *
         * @param float $seconds 0 or more
         * @throws ValueError if the time is 2^60 nanoseconds (36 years) or more
         * @throws LogicException over a storage that is written in PHP
         */
        public function block(float $seconds): TokenBucket\Decision {}

        /**
         * Lowers the tokens of the bucket to $tokens. Then the bucket refills as usual. If it holds
         * fewer tokens, or if $tokens exceed the capacity, nothing changes.
         *
         * The decision is as for charge(). The other rules are those of block().
         *
         * @param int|float $tokens 0 or more
         * @throws LogicException over a storage that is written in PHP
         */
        public function drain(int|float $tokens = 0): TokenBucket\Decision {}

        /**
         * Takes tokens from every bucket, or from none.
         *
         * An element is a bucket, or the list [bucket, tokens] to take another number of tokens, or
         * [bucket, tokens, floor] to leave a floor in the bucket as attempt() does. A bucket that
         * is listed twice is charged twice, and must hold the greatest of its floors afterwards.
         * Buckets on Redis are charged in one atomic operation if one server has all of them.
         * Buckets in shared memory are decided at one instant. Otherwise the buckets are checked
         * first, and then charged.
         * Redis and memcached servers are asked at once, in pipelines of up to 500 buckets.
         * Databases are asked in turn, and shared memory comes last. If a bucket denies its charge,
         * the other charges are given back. The call never grants too much, but other callers may
         * be denied for an instant.
         *
         * The whole call waits for Redis and memcached for at most the longest $timeout of their
         * storages, and in one exchange for no store longer than its own. The checks may take half
         * of that time, so a storage whose server hangs leaves time to the others. A storage that
         * fails the check is not asked again, and its failure policy decides. If a server fails,
         * the policy of each bucket's own storage decides that bucket, and of a bucket that is
         * listed through several storages the strictest: Throw, Deny, Local, Allow. If charges must
         * be given back, that may take one more timeout.
         *
         * @throws LogicException over a storage that is written in PHP, and for a class that
         *     overrides _bootstrap()
         * @throws ValueError if two buckets have one storage and one identifier, but different
         *     limits
         * @param non-empty-array<TokenBucket|array{0: TokenBucket, 1: int|float, 2?: int|float}> $buckets the buckets;
         *     the decision's refusedBy is a key of this array
         * @param int|float $tokens the tokens of each bucket that has no number of its own
         * @return TokenBucket\Decision the decision of the bucket that denies the call. If all
         *     buckets grant it, the decision of the bucket with the fewest tokens left
         */
        public static function attemptAll(array $buckets, int|float $tokens = 1): TokenBucket\Decision {}

        /**
         * Takes a token from each bucket that holds one, as attempt() does. Each bucket decides on
         * its own.
         *
         * An element is a bucket, the list [bucket, tokens], or the list [bucket, tokens, floor]. A
         * bucket that is listed twice decides twice, in order. Up to 500 buckets on one Redis or
         * memcached server take one round trip if their storages have the same timeout. All servers
         * of one kind are asked at once, so several servers that hang delay the call by one timeout
         * only. The buckets of other storages are decided one after another. If a server fails, the
         * failure policy of each bucket's storage decides. If a storage throws, the tokens of the
         * other buckets are given back, except over a storage that is written in PHP.
         *
         * @throws TokenBucket\StorageException if a server fails under OnFailure::Throw
         * @param non-empty-array<TokenBucket|array{0: TokenBucket, 1: int|float, 2?: int|float}> $buckets the buckets
         * @return non-empty-array<TokenBucket\Decision> the decision of each bucket, under the key
         *     of the bucket
         */
        public static function attemptEach(array $buckets): array {}

        /**
         * Creates the record of a bucket that holds $initialTokens. Runs when the bucket has no
         * record. A subclass may override it so that new buckets start with fewer tokens. The call
         * that creates the bucket is then granted, with two exceptions. reserve() and wait() are
         * denied if the bucket starts with a debt that takes longer to refill than they may wait. A
         * call with a floor is denied if the new bucket would hold fewer tokens than the floor.
         *
         * @param int|float $initialTokens the tokens that the new bucket holds after the call. A
         *     negative number is a debt
         */
        protected function _bootstrap($initialTokens) {}

        /**
         * Converts tokens to seconds. A subclass may override it.
         *
         * @param int|float $tokens a number of tokens
         * @return float the seconds in which the tokens are refilled
         */
        protected function _tokens_to_seconds($tokens) {}

        /**
         * Converts seconds to tokens.
         *
         * @param float $seconds a number of seconds
         * @return float the tokens that the bucket gains in this time
         */
        protected function _seconds_to_tokens($seconds) {}
    }

    /**
     * Keeps buckets and permits in memory that all workers of one php-fpm master share.
     *
     * Command-line processes share nothing unless tokenbucket.shm_path is set. A reload
     * keeps the buckets. A restart of the master discards private memory, so that every bucket
     * is full again. The storage cannot fail. If the table is full, tokenbucket.shm_full decides.
     *
     * @implementation storage::shared_memory::SharedMemoryStorage
     * @strict-properties
     * @not-serializable
     */
    final class TokenBucketStorageSharedMemory implements TokenBucketStorage
    {
        private readonly string $namespace;

        /**
         * Creates the object.
         *
         * @param string $namespace separates buckets that have the same identifier
         */
        public function __construct(string $namespace = '') {}

        /** Does nothing, because shared memory needs no preparation. */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
    }

    /**
     * Keeps buckets on a Redis or Valkey server that several hosts share, on the primary that
     * sentinels know, on a cluster, or on a ring of independent servers.
     *
     * A decision takes one round trip and uses the server's clock. A cached denial takes no round
     * trip. Times are whole microseconds.
     *
     * @implementation storage::redis::RedisStorage
     * @strict-properties
     * @not-serializable
     */
    final class TokenBucketStorageRedis implements TokenBucketStorage
    {
        private readonly string $server;

        private readonly string $prefix;

        /**
         * Creates the object. Does not connect. The first call opens the connection. The worker
         * keeps the connection for later requests.
         *
         * @param string $dsn `redis://[user[:password]@]host[:port][/database]`, `rediss://…` for
         *     TLS (`?cafile=/path/ca.pem`, `?servername=name`,
         *     `?certfile=/path/client.pem&keyfile=/path/client.key`), or
         *     `unix:///path[?db=n&user=…&password=…]`. User, password and path are percent-encoded.
         *     Sentinel: `redis+sentinel://[user[:password]@]sentinel[:port],…/primary[/database]`
         *     (`?sentinel_user=…`, `?sentinel_password=…`). Cluster:
         *     `redis+cluster://[user[:password]@]host[:port],…` (`?hash_tags=1` to place buckets by
         *     hash tags in identifiers). Ring:
         *     `redis+ring://[user[:password]@]host[:port],…[/database]` (`?weights=3,1`). All three
         *     take `cafile` and `servername` with `rediss+sentinel://`, `rediss+cluster://` and
         *     `rediss+ring://`. For a single server, `?one_server=1` states that all keys are on
         *     one server, and 0 that a proxy spreads them. By default the extension asks the
         *     server. Each also takes `?take_ahead=0.2`, which is the default of $takeAhead if
         *     $denialCache is TRUE
         * @param string $prefix a bucket's key is the prefix and the identifier. If they are longer
         *     than 250 bytes together, the key is their beginning and a SHA-256 hash
         * @param float $timeout seconds that one call may take, including the connection; greater
         *     than 0, at most 3600. The timeout does not cover a DNS lookup. Only one worker at a
         *     time looks up a name
         * @param TokenBucket\OnFailure $onFailure decides while the server fails
         * @param bool $denialCache true to use the denial cache of this host. If the server loses
         *     its data, the host restores cached denials
         * @param float $denialCacheMaxAge seconds for which a cached denial is returned without
         *     contacting the server, 0 to 3600. A refund or reset by another host takes effect on
         *     this host after this time at the latest
         * @param float $takeAhead seconds, 0 to 1. 0 is off. With a call, this host takes
         *     the tokens that it uses in this time, so that one round trip serves many grants.
         *     While a bucket is used up, it keeps the next place in the queue, so that a grant
         *     takes about one. It needs the denial cache. Only attempt(), consume() and short
         *     waits use it
         * @throws ValueError if the DSN is invalid or a number is out of range
         */
        public function __construct(
            #[\SensitiveParameter] string $dsn,
            string $prefix = 'tokenbucket:',
            float $timeout = 0.05,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Local,
            bool $denialCache = true,
            float $denialCacheMaxAge = 1.0,
            float $takeAhead = 0.0
        ) {}

        /**
         * Creates a storage from a connected phpredis client. The storage opens its own connection.
         *
         * The method reads host, port or socket, user, password, database and key prefix from the
         * client. A bucket's key is the client's Redis::OPT_PREFIX, $prefix and the identifier.
         * Over TLS the public CAs are trusted, because a client does not report its CA file. If the
         * server uses a private CA, pass a DSN with cafile to the constructor.
         *
         * From a \RedisCluster, the method reads the servers and the key prefix. If the cluster
         * has a password or uses TLS, pass a DSN to the constructor.
         *
         * @param \Redis|\RedisCluster $redis a connected client, or another object with the same
         *     methods
         * @throws TypeError if $redis is not a client
         * @throws ValueError if the client is not connected, a cluster has a password, or a number
         *     is out of range
         */
        public static function fromClient(
            object $redis,
            string $prefix = 'tokenbucket:',
            float $timeout = 0.05,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Local,
            bool $denialCache = true,
            float $denialCacheMaxAge = 1.0,
            float $takeAhead = 0.0
        ): static {}

        /**
         * Sends commands to the servers and returns the replies. The command `tokenbucket check`
         * uses this method to examine servers. It counts nothing and uses no breaker. It closes the
         * connection after commands that may change its state, such as SELECT or MULTI.
         *
         * @param list<list<string>> $commands each command as its words
         * @param float $timeout seconds to wait for each server; greater than 0, at most 3600
         * @param ?string $server `host[:port]` of a primary or of a server of the cluster. null:
         *     each server that the DSN names, which for Sentinel are the sentinels
         * @return array<string, list<mixed>|string> for each server the replies in the order of the
         *     commands, or the cause of its failure. An error in a reply is ['error' => text]
         * @throws TypeError if a command is not a list of strings
         * @throws ValueError if there are no commands, or the timeout or the server is invalid
         */
        public function sendCommands(array $commands, float $timeout = 0.05, ?string $server = null): array {}

        /** Does nothing, because Redis needs no preparation. */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
    }

    /**
     * Keeps buckets on memcached servers that several hosts share.
     *
     * A decision takes one round trip, or more if other hosts change the same bucket at the same
     * time. A decision uses the wall clock of the host, so keep the clocks synchronised. If
     * memcached evicts an item, its bucket is full. Times are whole microseconds.
     *
     * @implementation storage::memcached::MemcachedStorage
     * @strict-properties
     * @not-serializable
     */
    final class TokenBucketStorageMemcached implements TokenBucketStorage
    {
        private readonly string $servers;

        private readonly string $prefix;

        /**
         * Creates the object. Does not connect. The first call opens the connections. The worker
         * keeps the connections for later requests.
         *
         * @param string|list<string> $servers `host[:port]`, `[v6]:port` or `unix:///path`, each
         *     with an optional `?weight=n`. A string may list several servers, separated by commas.
         *     Keys are placed as ext-memcached places them with OPT_LIBKETAMA_COMPATIBLE
         * @param string $prefix a bucket's key is the prefix and the identifier. A key that
         *     memcached does not accept is replaced by its readable beginning and a hash
         * @param float $timeout seconds that one call may take, including the connection; greater
         *     than 0, at most 3600. The timeout does not cover a DNS lookup. Only one worker at a
         *     time looks up a name
         * @param TokenBucket\OnFailure $onFailure decides while a server fails
         * @param bool $denialCache as in TokenBucketStorageRedis
         * @param float $denialCacheMaxAge as in TokenBucketStorageRedis
         * @param float $takeAhead must be 0
         * @throws ValueError if a server is invalid or a number is out of range
         * @throws LogicException if $takeAhead is not 0
         */
        public function __construct(
            string|array $servers,
            string $prefix = 'tokenbucket:',
            float $timeout = 0.05,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Local,
            bool $denialCache = true,
            float $denialCacheMaxAge = 1.0,
            float $takeAhead = 0.0
        ) {}

        /**
         * Creates a storage from a client. The storage opens its own connections.
         *
         * The servers, the key placement and the prefix are read from the client. The prefix is
         * OPT_PREFIX_KEY of a \Memcached, and memcache.prefix_static_key of a \Memcache. Weights
         * cannot be read. If the servers have different weights, pass them to the constructor. A
         * \Memcache must have one server.
         *
         * @param \Memcached|\Memcache $client a client with at least one server
         * @param string $prefix a bucket's key is the client's prefix, this prefix and the
         *     identifier
         * @throws TypeError if $client is not such a client
         * @throws ValueError if the storage would place keys on other servers than the client
         * @throws LogicException if $takeAhead is not 0
         */
        public static function fromClient(
            object $client,
            string $prefix = 'tokenbucket:',
            float $timeout = 0.05,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Local,
            bool $denialCache = true,
            float $denialCacheMaxAge = 1.0,
            float $takeAhead = 0.0
        ): static {}

        /** Does nothing, because memcached needs no preparation. */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
    }

    /**
     * Keeps buckets in a table of MySQL, MariaDB, PostgreSQL or SQLite (3.35 or later), through a
     * PDO object.
     *
     * A decision takes one statement and uses the server's clock. On SQLite a denial takes two
     * statements, and the clock is the host's. A cached denial takes no statement. SQLite does not
     * use the denial cache. A denial writes nothing. PDO has no deadline, so set the driver's
     * timeouts.
     *
     * Inside an open transaction a decision is part of it. A rollback returns the tokens. Other
     * callers of the same bucket wait until the transaction ends. The denial cache is not used.
     *
     * On MySQL and MariaDB a decision restores the last insert id if the statement before it
     * created one. Otherwise the decision changes what SQL's LAST_INSERT_ID() returns.
     *
     * The class is not final. A class that overrides prepare(), bootstrap() or consume() is treated
     * as a storage that is written in PHP.
     *
     * @implementation storage::pdo::PdoStorage
     * @not-serializable
     */
    class TokenBucketStoragePDO implements TokenBucketStorage
    {
        private $db;

        private $table;

        private $take;

        private $step;

        private $look;

        private $refund;

        private $reset;

        private $start;

        /**
         * Creates the object. Runs no statement. Each statement is prepared once for this object.
         *
         * @param PDO $db a connection in any error mode, with emulated or native prepares
         * @param string $table the table, or schema.table: letters, digits, "_", "$" and "-". The
         *     name is quoted, so that PostgreSQL does not fold upper-case letters
         * @param TokenBucket\OnFailure $onFailure decides while the database fails
         * @param bool $denialCache true to use the denial cache of this host. The cache is not used
         *     in a transaction, on SQLite, and for a table without its schema
         * @param float $denialCacheMaxAge seconds for which a cached denial is returned without a
         *     statement, 0 to 3600
         * @param float $takeAhead must be 0
         * @throws ValueError if the driver is not supported, the table's name is invalid, or a
         *     number is out of range
         * @throws LogicException if $takeAhead is not 0
         */
        public function __construct(
            PDO $db,
            string $table,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Throw,
            bool $denialCache = true,
            float $denialCacheMaxAge = 1.0,
            float $takeAhead = 0.0
        ) {}

        /**
         * Creates the table (identifier varchar(255) PRIMARY KEY, microtime double, span bigint) if
         * it is missing.
         *
         * @throws TokenBucket\StorageException if the creation fails, or would commit an open
         *     transaction (MySQL, MariaDB)
         */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}

        /**
         * Deletes the rows of full buckets, a hundred at a time. A full bucket needs no row.
         *
         * @param float $full_microtime seconds in which the largest bucket of the table is
         *     refilled, or the longest block of its lockouts. The rows of quotas stay until a
         *     window of a year is over
         * @return int the number of deleted rows
         */
        public function purge(float $full_microtime): int {}
    }

    /**
     * Keeps buckets in a table of MySQL or MariaDB, like TokenBucketStoragePDO. The constructor has
     * the arguments of the userland class of this name.
     */
    class TokenBucketStoragePDOMySQL extends TokenBucketStoragePDO
    {
        /**
         * Creates the object. Runs no statement. The failure policy is OnFailure::Throw.
         *
         * @param PDO $db a connection to MySQL or MariaDB
         * @param string $table_name the table, or schema.table
         * @implementation-alias storage::pdo::construct_mysql
         */
        public function __construct($db, $table_name) {}
    }

    /**
     * Keeps buckets and permits in this object, for tests. The clock moves only by advance(), by
     * wait() and by acquire() with a timeout.
     *
     * @implementation storage::memory::MemoryStorage
     * @strict-properties
     * @not-serializable
     */
    final class TokenBucketStorageMemory implements TokenBucketStorage
    {
        /** Creates the object, with no buckets. */
        public function __construct() {}

        /** Does nothing, because memory needs no preparation. */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}

        /**
         * Moves the clock forward. wait() on a bucket in this storage also moves the clock, instead
         * of sleeping.
         *
         * @param float $seconds 0 or more, less than 36 years
         * @throws ValueError if the clock would advance by more than 109 years in all
         */
        public function advance(float $seconds): void {}

        /**
         * Returns the seconds by which the clock was advanced. A new object returns 0.
         *
         * bootstrap() takes instants of this clock. It also takes instants of microtime(true),
         * which are decades later, and measures them on the wall clock.
         */
        public function now(): float {}
    }
}

namespace TokenBucket {
    /**
     * Marks every exception class of this extension, so that one catch block handles all of them.
     */
    interface Exception extends \Throwable
    {
    }

    /** The length of a quota's window. */
    enum Period
    {
        /** 60 seconds. */
        case Minute;
        /** 3600 seconds. */
        case Hour;
        /** A day of the calendar, of 23 or 25 hours if the clocks change. */
        case Day;
        /** Seven days. */
        case Week;
        /** A month of the calendar. */
        case Month;
        /** A year of the calendar. */
        case Year;
    }

    /**
     * A number of tokens in each minute, hour, day, week, month or year.
     *
     * A quota is a bucket that becomes full at the start of each window, and is not refilled in
     * between. Use it for limits of a contract, such as 10,000 calls a month. It grants at most
     * $limit tokens in a window. A period of the same length that overlaps two windows gets at most
     * twice as many. Add a bucket with attemptAll() if the calls must also be spread over time.
     *
     * The methods are those of TokenBucket. resetAfter is the time until the window ends. A part of
     * a token costs as much as a whole one. charge() may exceed the limit within a window, and the
     * next window starts full. refund() and settle() change only the current window, and
     * attemptAll() gives tokens back only to the window from which they were taken. block() lasts
     * until the end of the window in which its time ends. reserve(), wait(), drain() and floors
     * throw a LogicException.
     *
     * @not-serializable
     */
    final class Quota extends \TokenBucket
    {
        private $_period;

        private $_anchor;

        /**
         * Creates the object. Contacts no storage.
         *
         * The anchor is the start of a window. Its time zone and its time of day apply to all
         * windows, before it and after it. A monthly window begins on the anchor's day, or on the
         * last day of a shorter month. Without an anchor, windows begin at midnight UTC, on Monday,
         * on the first day of the month and of the year. Change the identifier if you change the
         * period or the anchor.
         *
         * @param \TokenBucketStorage $storage keeps the count; a storage of the extension
         * @param string $identifier the quota's name: any bytes, any length
         * @param int $limit the tokens in each window; at least 1, and at most the microseconds of
         *     the shortest window of the period, such as 60,000,000 a minute
         * @param Period $period the length of a window
         * @param \DateTimeInterface|null $anchor the start of a window, in whole seconds. It is
         *     copied
         * @throws \ValueError if the limit is out of range
         * @throws \LogicException over a storage that is written in PHP
         * @implementation-alias token_bucket::quota::construct
         */
        public function __construct(\TokenBucketStorage $storage, $identifier, int $limit, Period $period, ?\DateTimeInterface $anchor = null) {}

        /**
         * Returns the start and the end of the window that contains an instant.
         *
         * @param \DateTimeInterface|null $at the instant; by default now, by the wall clock of this
         *     host, or by the own clock of a TokenBucketStorageMemory
         * @return array{\DateTimeImmutable, \DateTimeImmutable} the start and the end, in the time
         *     zone of the anchor
         * @implementation-alias token_bucket::quota::window
         */
        public function window(?\DateTimeInterface $at = null): array {}
    }

    /**
     * Selects the rule that decides calls while a store fails.
     *
     * Each use is counted in status(). Except for Throw, the failure is also written to PHP's error
     * log, at most once a minute for each store and kind of cause. tokenbucket.failure_report
     * selects another report.
     */
    enum OnFailure
    {
        /**
         * Buckets of the same limit in this host's shared memory decide. On H hosts this admits up
         * to H times the limit.
         */
        case Local;
        /** Every call is allowed. */
        case Allow;
        /** Every call is denied, with the reason 'unavailable'. */
        case Deny;
        /** A StorageException is thrown. */
        case Throw;
    }

    /**
     * Reports that a store failed and that its policy is OnFailure::Throw. Never contains a
     * password.
     */
    class StorageException extends \RuntimeException implements Exception
    {
    }

    /**
     * Holds tokens that were reserved. TokenBucket::reserve() returns this object.
     *
     * If the process ends without cancel(), the tokens stay taken.
     *
     * @implementation token_bucket::reservation::Reservation
     * @strict-properties
     * @not-serializable
     */
    final class Reservation
    {
        /** The decision at the time of the reservation. */
        public readonly Decision $decision;

        /**
         * Seconds from the reservation until the tokens may be used. The value is 0 if they may be
         * used at once, and INF if nothing was reserved.
         */
        public readonly float $delay;

        private readonly \TokenBucketStorage $storage;

        private readonly string $identifier;

        private function __construct() {}

        /**
         * Sleeps until the tokens may be used. Returns at once if that instant has passed.
         *
         * Signal handlers of PHP run during the sleep. If a handler throws, the reservation is
         * cancelled and the exception is passed on.
         *
         * @throws \LogicException if nothing was reserved, or if the reservation was cancelled
         */
        public function wait(): void {}

        /**
         * Gives the tokens back, once. Later calls do nothing.
         *
         * While the bucket is in debt, gives back the cost only if no other call has taken tokens
         * since the reservation. Otherwise two callers could get their tokens at one instant. If
         * the bucket is not in debt, gives back all tokens that it still lacks because of the
         * reservation. Does nothing in a forked child, because only the process that reserved can
         * give the tokens back.
         */
        public function cancel(): void {}
    }

    /**
     * Allows some attempts, and then blocks for longer and longer: for passwords and other guesses.
     *
     * Call attempt() before the password is verified, and succeed() if it is right. So parallel
     * guesses cannot all pass a check. Call cancel() if the verifier throws. After each block, one
     * attempt is allowed. Each further failure makes the next block longer by $factor, up to
     * $maxBlock. A denial changes nothing, so it never extends a block. After $maxBlock without an
     * attempt, the failures are forgotten.
     *
     * Use an identifier whose failures succeed() may forget: the account, or the account and the
     * network. For a network alone use a bucket, and refund its token after a success, because many
     * clients may share the network.
     *
     * While the server fails, OnFailure::Local uses a lockout in this host's shared memory, Allow
     * allows each attempt, and Deny denies it. A lockout uses no denial cache. In shared memory, an
     * identifier with a failure occupies a slot for $maxBlock. In a database, a rollback of the
     * caller's transaction takes an attempt back.
     *
     * @implementation lockout::LockoutState
     * @strict-properties
     * @not-serializable
     */
    final class Lockout
    {
        private readonly \TokenBucketStorage $storage;

        private readonly string $identifier;

        /**
         * Creates the object. Contacts no storage.
         *
         * @param string $identifier any bytes, any length. A bucket with the same identifier is
         *     independent of the lockout
         * @param int $attempts the failures that begin the first block: 1 to 512
         * @param float $block seconds of the first block: greater than 0, less than 36 years
         * @param float $factor each further block is longer by this factor: 1 or more
         * @param float $maxBlock seconds of the longest block: greater than 0, less than 36 years
         * @throws \ValueError if a number is out of range
         */
        public function __construct(
            \TokenBucketStorage $storage,
            string $identifier,
            int $attempts = 5,
            float $block = 900.0,
            float $factor = 2.0,
            float $maxBlock = 86400.0
        ) {}

        /**
         * Counts an attempt, unless the lockout is in a block.
         *
         * The reason of a denial is 'locked_out', and retryAfter is the rest of the block.
         * remaining are the attempts before the next block. capacity is $attempts. resetAfter is
         * the time after which the failures are forgotten.
         *
         * @throws \LogicException over a storage that is written in PHP
         */
        public function attempt(): Decision {}

        /**
         * Returns the decision that attempt() would return now, and counts nothing. remaining are
         * the attempts before the next block.
         *
         * @throws \LogicException as attempt() does
         */
        public function peek(): Decision {}

        /**
         * Forgets the failures, also those that OnFailure::Local has counted on this host.
         *
         * @throws \LogicException as attempt() does
         */
        public function succeed(): void {}

        /**
         * Takes back an attempt that verified nothing, because the verifier has thrown. Its failure
         * is taken back once, and the block that it began ends. A block that another attempt began
         * goes on. Do not call it after a wrong guess, or after a rollback of the attempt.
         *
         * A lockout cancels at most 100 attempts in a row, and 100 a day. Otherwise a client that
         * makes the verifier fail would get unlimited guesses. Afterwards, each attempt counts.
         *
         * @return bool false if nothing changed: the attempt was denied, was cancelled before or is
         *     forgotten, or too many were cancelled
         * @throws \ValueError if $attempt is not the decision of attempt() of this lockout. A clone
         *     is not
         */
        public function cancel(Decision $attempt): bool {}
    }

    /**
     * Reports that code may not act on a client of the guard. The message has the reason, and never
     * a password.
     */
    class AccessDeniedException extends \RuntimeException implements Exception
    {
    }

    /**
     * Shows, frees or blocks a client of a limit of tokenbucket.guard, for operators.
     *
     * Other PHP code cannot name the buckets of the guard, so that no application lifts a limit.
     * On the command line, the constructor succeeds only if the segment is named
     * (tokenbucket.shm_path). Elsewhere it needs the password of tokenbucket.guard_password_hash.
     * After five wrong passwords, a client (for IPv6, its /64 network) is locked out for 15
     * minutes, and for longer after each further wrong password.
     *
     * The class acts on the buckets of the mode "enforce". A request that is denied by another
     * limit stays denied. Permits of limits with "concurrent" end with their requests.
     *
     * @implementation guard::guarded_client::GuardedClient
     * @strict-properties
     * @not-serializable
     */
    final class GuardedClient
    {
        /** The limit in its canonical form. */
        public readonly string $limit;

        /**
         * The address as the guard counts it, such as "192.0.2.1" or "2001:db8:1:2::/64", or its
         * network, such as "192.0.2.0/24". null if neither "ip" nor "net" is a key of the limit.
         */
        public readonly ?string $client;

        private readonly string $identifier;

        /**
         * Names a bucket. Changes nothing, except that a wrong password is counted.
         *
         * @param string $limit one limit as in tokenbucket.guard, or the name of its row in
         *     status(). The setting of this process may lack it
         * @param list<string> $values the value of each key, in the order of the limit: the address
         *     for "ip", the network or an address in it for "net", the path of the URL for "path",
         *     and none for "all"
         * @param ?string $password needed in a web server, and ignored on the command line
         * @throws \ValueError if the guard has not used such a limit, or if a value is missing or
         *     is not an address
         * @throws AccessDeniedException if this code may not act
         */
        public function __construct(string $limit, array $values, #[\SensitiveParameter] ?string $password = null) {}

        /** Returns the decision on a request of the client now. Takes nothing. */
        public function peek(): Decision {}

        /** Fills the bucket, which also ends a block. So the next request of the client passes. */
        public function reset(): void {}

        /**
         * For some seconds, denies all requests of the client that the limit counts. A block that
         * ends later stays.
         *
         * @param float $seconds 0 or more, less than 36 years
         * @return Decision the decision on a request of the client now
         * @throws \ValueError if $seconds is out of range
         * @throws AccessDeniedException if the settings of this process have the client in
         *     tokenbucket.guard_trusted_proxies or tokenbucket.guard_allow
         */
        public function block(float $seconds): Decision {}
    }

    /**
     * Replays access logs through the rules of tokenbucket.guard, for the command "tokenbucket
     * advise". The class may change with the command in any version. It reads no file and no
     * setting, and changes no bucket.
     *
     * @implementation log_replay::LogReplay
     * @strict-properties
     * @not-serializable
     */
    final class LogReplay
    {
        /**
         * Prepares a replay. Nothing is read.
         *
         * @param int $logs the number of logs
         * @param list<string> $format a text, the name of a field, a text and so on, and a text at
         *     the end. crates/replay/src/line.rs has the names
         * @param string $guard limits as in tokenbucket.guard. Without limits, read() lists all
         *     requests for weigh()
         * @param bool $enforces false to decide as the mode "observe" does
         * @param string $trusted as tokenbucket.guard_trusted_proxies
         * @param string $allowed as tokenbucket.guard_allow
         * @param string $strangers a limit that counts requests without the cookies to report
         * @param list<string> $groups at most 32 groups of paths for weigh(), each as a limit that
         *     counts them. Without groups, summary() counts the first segments of paths
         * @param list<string> $skipped endings of paths that PHP does not serve
         * @param bool $listsAll true to list granted requests, too
         * @throws \ValueError if an argument is malformed, or if the format lacks a field that a
         *     limit needs
         */
        public function __construct(int $logs, array $format, string $guard, bool $enforces, string $trusted, string $allowed, string $strangers, array $groups, array $skipped, bool $listsAll) {}

        /** Returns the number of the log to read next, or null if all logs are over. */
        public function next(): ?int {}

        /**
         * Reads more bytes of a log. Returns the requests whose turn has come, packed as
         * crates/replay/src/guarded.rs says.
         */
        public function read(int $log, string $bytes, bool $isOver): string {}

        /** Returns the text of a number in a packed request. */
        public function text(string $kind, int $number): string {}

        /** Returns the counts of lines, requests and limits. */
        public function summary(): array {}

        /**
         * Replaces the questions about the requests that weigh() reads.
         *
         * @param list<string> $questions such as "* ip" or "3 net 10/second burst 20"
         */
        public function ask(array $questions): void {}

        /** Reads requests that read() has listed, for the questions. */
        public function weigh(string $requests): void {}

        /** Returns the answer to a question. Its lists of numbers are packed. */
        public function answer(int $question): array {}
    }

    /**
     * Limits how many permits of an identifier are held at once, on all processes that share the
     * storage.
     *
     * A permit ends when it is released, when its object is destroyed, when its request ends and
     * when its process dies, also by SIGKILL. In shared memory, permits depend on no clock and need
     * no lease. An object is cheap, because it stores and contacts nothing until acquire().
     *
     * On Redis all hosts share the permits. The server does not learn of the death of a process, so
     * each permit has a lease on the server's clock. At every instant, at most $limit leases have
     * not ended. The permit of a process that was killed is free when its lease ends. Call renew()
     * in work that may take longer than the lease. While the server fails, the failure policy of
     * the storage decides. OnFailure::Local takes permits in this host's shared memory.
     *
     * Objects with one identifier share their permits. If their limits differ, the holders never
     * exceed the greatest limit. In shared memory, permits are numbered from 0, and a limit of n
     * counts only those below n. On Redis each limit counts all of them. A bucket with the same
     * identifier is independent.
     *
     * A TokenBucketStorageMemory keeps permits in its object, for tests.
     *
     * @implementation concurrency::limit::ConcurrencyLimit
     * @strict-properties
     * @not-serializable
     */
    final class ConcurrencyLimit
    {
        private readonly \TokenBucketStorage $storage;

        private readonly string $identifier;

        private readonly int $limit;

        private readonly float $lease;

        /**
         * Creates the object. Contacts no storage.
         *
         * @param \TokenBucketStorage $storage keeps the permits
         * @param string $identifier the name of what is limited: any bytes, any length
         * @param int $limit the most permits that are held at once, 1 to 1024
         * @param float $lease seconds after which a permit on Redis ends unless renew() is called,
         *     greater than 0 and at most 36 years. Storages in memory do not use it
         * @throws \ValueError if the limit or the lease is out of range
         * @throws \LogicException if the storage cannot keep permits. Only
         *     TokenBucketStorageSharedMemory, TokenBucketStorageRedis and TokenBucketStorageMemory
         *     can
         */
        public function __construct(\TokenBucketStorage $storage, string $identifier, int $limit, float $lease = 60.0) {}

        /**
         * Takes a permit if fewer than $limit are held. Returns the permit or the denial.
         *
         * Keep the result in a variable, because the permit ends with its last reference.
         *
         * A call that waits tries again and again, in no order. The wait ends with the reason
         * 'interrupted' if a signal arrives that PHP must handle. The wait blocks the whole
         * process, also inside a fiber. Over a TokenBucketStorageMemory the clock advances instead.
         *
         * On Redis each try is a request. A caller that waits sends at most 14 requests in the
         * first second and 10 in each later one. The last request may make the wait longer by the
         * $timeout of the storage.
         *
         * @param float $timeout seconds to wait for a permit, 0 or more; INF for any wait
         * @param ?int $maxWaiting the most calls of this host that wait for a permit of the
         *     identifier, 1 to 1024; null for any number. The next call that would wait is denied
         *     at once with the reason 'too_many_waiting'. A call with the timeout 0 never waits.
         *     Calls without $maxWaiting are not counted
         * @return Permit check its decision, because a denial throws no exception
         * @throws \ValueError if $timeout is negative or NAN, or if $maxWaiting is out of range
         * @throws \LogicException if $maxWaiting is set and the storage is not a
         *     TokenBucketStorageSharedMemory
         * @throws StorageException if the server failed and the policy is OnFailure::Throw
         */
        public function acquire(float $timeout = 0.0, ?int $maxWaiting = null): Permit {}

        /**
         * Returns the permits that live processes hold now, at most $limit. On Redis: the permits
         * whose leases have not ended. While the server fails, OnFailure::Allow returns 0 and
         * OnFailure::Deny returns $limit.
         *
         * @throws StorageException if the server failed and the policy is OnFailure::Throw
         */
        public function held(): int {}
    }

    /**
     * Holds a permit that ConcurrencyLimit::acquire() has granted, or the permits that guard() has
     * taken for a request, or the decision that denied them.
     *
     * The permit ends with release(), with the object, with the request or with the process. On
     * Redis it also ends with its lease. The object of a forked child holds nothing, because the
     * permit belongs to the parent.
     *
     * @implementation concurrency::permit::PermitState
     * @strict-properties
     * @not-serializable
     */
    final class Permit
    {
        /**
         * The decision. Its capacity is the limit. remaining is an estimate of the permits that are
         * still free. A denial has the reason 'too_many_concurrent', 'too_many_waiting',
         * 'contended', 'table_full', 'unavailable' or 'interrupted'. Its retryAfter is 1 and its
         * resetAfter is 0. After guard() it may be the decision of a bucket.
         */
        public readonly Decision $decision;

        private function __construct() {}

        /**
         * Gives the permit back, once. Later calls do nothing. Does nothing after a denial.
         *
         * If a Redis server fails, a later call of this process to the server gives the permit
         * back. Without such a call, the permit ends with its lease.
         *
         * @throws StorageException if the server failed and the policy is OnFailure::Throw. The end
         *     of the object or of the request throws nothing, and writes to PHP's log instead
         */
        public function release(): void {}

        /**
         * Makes sure that this process still holds the permit.
         *
         * In shared memory, call it after PHP code has opened and closed the file of
         * tokenbucket.shm_path. When the file is closed, the kernel drops the lock that shows that
         * this process lives. renew() takes this lock again.
         *
         * On Redis the lease begins again. Call renew() at least twice in the time of a lease, so
         * that one failure ends no permit. While the server fails, the result is true until the
         * lease has ended by the clock of this host. With OnFailure::Allow it is always true.
         *
         * @return bool false after a denial or release(), in a forked child, and if another process
         *     has taken the permit meanwhile. On Redis also if the lease has ended, or if the
         *     server has lost its data. Then stop the work
         * @throws StorageException if the server failed and the policy is OnFailure::Throw
         */
        public function renew(): bool {}
    }

    /**
     * Describes the result of one call. It is read-only and contacts no storage. Buckets create
     * decisions. Applications can create decisions for their tests.
     *
     * @implementation decision::DecisionState
     * @strict-properties
     * @not-serializable
     */
    final class Decision implements \JsonSerializable
    {
        /** True if the tokens were taken. For peek(): true if the tokens would be taken. */
        public readonly bool $allowed;

        /** Whole tokens left after the call. Negative if the bucket is in debt. */
        public readonly float $remaining;

        /** The most tokens that the bucket holds. */
        public readonly float $capacity;

        /**
         * Seconds until the same call succeeds if no other caller takes tokens. 0 if the call was
         * allowed, INF if it can never succeed.
         */
        public readonly float $retryAfter;

        /** Seconds until the bucket is full if no caller takes tokens. */
        public readonly float $resetAfter;

        /**
         * 'granted', 'insufficient_tokens', 'exceeds_capacity', 'below_floor',
         * 'too_many_concurrent', 'too_many_waiting', 'server_busy', 'locked_out', 'contended',
         * 'table_full', 'unavailable' or 'interrupted'.
         */
        public readonly string $reason;

        /**
         * True if the failure policy decided, because the store failed. False for cached denials.
         * For attemptAll(): of the bucket that the decision describes.
         */
        public readonly bool $fallback;

        /**
         * The key of the bucket that refused, in the array that was passed to attemptAll(). Null
         * for an allowed call, and for the other methods.
         */
        public readonly int|string|null $refusedBy;

        /**
         * The parameter qu of headers(): 'concurrent-requests' for a ConcurrencyLimit, null for a
         * bucket.
         */
        public readonly ?string $unit;

        /**
         * Creates a decision for tests. The arguments become its properties.
         *
         * @param bool $allowed true for a granted call
         * @param float $remaining whole tokens left, at most $capacity; negative for a debt
         * @param float $capacity the most tokens that the bucket holds; if it is 0, the property is
         *     the greater of $remaining and 1
         * @param float $retryAfter seconds, 0 or more; INF if never
         * @param float $resetAfter seconds, 0 or more
         * @param string $reason if it is empty, 'granted' or 'insufficient_tokens'
         * @param bool $fallback true if the failure policy decided
         * @param int|string|null $refusedBy the array key of the bucket that refused
         * @param ?string $unit the unit of the limit: printable ASCII
         * @throws ValueError if a number is NAN, if $remaining exceeds $capacity, if another number
         *     is negative, or if $unit contains other characters
         */
        public function __construct(
            bool $allowed,
            float $remaining = 0.0,
            float $capacity = 0.0,
            float $retryAfter = 0.0,
            float $resetAfter = 0.0,
            string $reason = '',
            bool $fallback = false,
            int|string|null $refusedBy = null,
            ?string $unit = null
        ) {}

        /**
         * Returns the properties by name for json_encode(), with null instead of INF.
         *
         * @return array<string, bool|int|float|string|null> values by property name
         */
        public function jsonSerialize(): array {}

        /**
         * Returns the HTTP fields RateLimit-Policy and RateLimit of
         * draft-ietf-httpapi-ratelimit-headers, and Retry-After on a denial that ends.
         * docs/reference/headers.md describes each field.
         *
         * @param string $policy the policy's name: printable ASCII
         * @param bool $legacy true to add X-RateLimit-Limit, -Remaining and -Reset (a Unix
         *     timestamp)
         * @param string|null $partition the key that selects the client's part of the quota, as the
         *     parameter pk. Pass no secret and no personal data, because clients see it
         * @return array<string, string> values by field name; all seconds are whole and rounded up
         * @throws ValueError if $policy contains other characters
         */
        public function headers(string $policy = 'default', bool $legacy = false, ?string $partition = null): array {}

        /**
         * Returns the fields of headers() for several decisions on one call, such as those of
         * attemptEach() and peek().
         *
         * RateLimit-Policy and RateLimit list all policies. Retry-After is the greatest of all
         * denials. It is absent if a denial never ends. The legacy fields are those of the decision
         * with the fewest tokens left.
         *
         * @implementation-alias http::headers_of
         * @param non-empty-array<Decision> $decisions decisions by the policy's name: printable
         *     ASCII
         * @param bool $legacy as in headers()
         * @return array<string, string> values by field name
         * @throws ValueError if the array is empty or a name contains other characters
         */
        public static function headersOf(array $decisions, bool $legacy = false): array {}

        /**
         * Returns the problem details (RFC 9457) of a denial: type, title, status and
         * violated-policies. Send them as application/problem+json.
         *
         * The status is 503 for the reasons 'below_floor', 'unavailable', 'contended' and
         * 'table_full', because the client has done nothing wrong. It is 429 for all others.
         *
         * @implementation-alias http::problem
         * @param array<int|string> $policies the names of the policies that deny the call
         * @return array<string, int|string|list<string>> values by member
         * @throws LogicException if the decision is a grant
         * @throws TypeError if $policies contains other values than strings and integers
         */
        public function problem(array $policies = []): array {}
    }

    /**
     * Returns the counters and the state of the segment that this process uses.
     * docs/reference/status.md describes each field.
     *
     * @return array{
     *     version: string,
     *     shared_memory: array{
     *         backing: string, path: string, size: int, full: string,
     *         slots: int, live: int, reclaimable: int, pending: int, empty: int,
     *         granted: int, denied: int, refunds: int, resets: int,
     *         inserted: int, reclaimed: int, adopted: int, duplicates: int, stolen: int,
     *         conflicts: int, contended: int, refused: int,
     *         evicted: int, blocked: int, evicted_seconds: float,
     *         evicted_seconds_max: float, age: float
     *     },
     *     guard: array{in_force: bool, reason: ?string},
     *     decisions: list<array{
     *         store: string, namespace: ?string, granted_by_store: int, denied_by_store: int,
     *         denied_by_denial_cache: int, granted_by_fallback: int, denied_by_fallback: int,
     *         permits_held?: int, permits_limit?: int|null, blocked?: int,
     *         clients_denied_today?: int, clients_denied_yesterday?: int
     *     }>,
     *     most_denied: list<array{
     *         store: string, namespace: ?string, identifier: string, denied: int
     *     }>,
     *     permits: array{
     *         held: int, denied: int, taken_back: int, foreign: int, unavailable: ?string
     *     },
     *     remote: array{
     *         asked: int, cached: int, failed: int, opened: int,
     *         local: int, allowed: int, denied: int, thrown: int, set_back: int,
     *         taken_ahead: int, used_ahead: int, dropped_ahead: int
     *     },
     *     stores: list<array{
     *         name: string, timeout: float, breaker: 'closed'|'open', failures: int,
     *         opened: int, retry_after: float, last_cause: ?string, last_cause_age: float,
     *         causes: array<string, int>, calls: int, seconds: float, p99: ?float
     *     }>
     * }
     * @implementation status::status
     */
    function status(): array {}

    /**
     * Returns the counters and the state of the segment that this process uses, as OpenMetrics text
     * for Prometheus. docs/reference/status.md describes each metric. The text contains no
     * identifiers. A call takes less than a millisecond, also if the table is large.
     *
     * @return string a text that Prometheus reads as OpenMetrics and in its older format
     * @implementation metrics::metrics
     */
    function metrics(): string {}

    /**
     * Returns the address of the client by the rules of the guard, as an identifier of buckets.
     * This is REMOTE_ADDR. If REMOTE_ADDR is in tokenbucket.guard_trusted_proxies, it is the last
     * address in X-Forwarded-For that is not in this setting.
     *
     * IPv6 addresses with the same first 64 bits are one client, such as "2001:db8:1:2::/64". An
     * IPv4 address in IPv6 (::ffff:192.0.2.1, and 64:ff9b::8.8.8.8 of NAT64) is the IPv4 address.
     *
     * @param ?array<mixed> $server an array like $_SERVER. null: the variables of this request,
     *     also if the script has changed $_SERVER
     * @return ?string null without an address, as on the command line, and for an invalid address
     * @implementation guard::client_address::client_address
     */
    function client_address(?array $server = null): ?string {}

    /**
     * Applies the limits of tokenbucket.guard to one request of a script that serves many, as under
     * FrankenPHP's workers, RoadRunner and Swoole. Hold the permit until the response is sent, and
     * deny the request if $permit->decision->allowed is false. A denial's refusedBy is the limit.
     *
     * Elsewhere the guard has decided before the script was compiled, and the result is null.
     *
     * @param ?array<mixed> $server the variables of the request, in an array like $_SERVER, where
     *     headers may be arrays. null: $_SERVER
     * @return ?Permit null if no limit counts the request, and in the mode "observe". The decision
     *     of a grant is that of the rate with the fewest tokens left
     * @throws \ValueError if the array has no REMOTE_ADDR
     * @implementation guard::in_loop::guard
     */
    function guard(?array $server = null): ?Permit {}

    /**
     * Returns what each limit of the guard has decided about this request, or about the last one
     * that was passed to guard(). In the mode "observe", the script also runs for denials. Their
     * refusedBy is the limit's key.
     *
     * @return ?array<string, Decision> by the name of the limit, or by its text in the form of
     *     status()['decisions'] if it has no name. "guard_local: " is in front of limits of that
     *     setting. Empty if no limit counts the request. null if no limit is set, on the command
     *     line, and before guard() in a worker loop
     * @implementation guard::decided::guard_decisions
     */
    function guard_decisions(): ?array {}
}

/**
 * Replacements for well-known userland limiters. They have the methods of those limiters. On the
 * kind of server that a limiter uses, they also use its records.
 *
 * The classes are not final, and their methods are untyped, so that code written for the userland
 * classes can extend them.
 */
namespace TokenBucket\Compat {
    /** Reports more requests than MinuteWindow allows. The message is empty and the code is 0. */
    class RateExceededException extends \Exception implements \TokenBucket\Exception
    {
    }

    /**
     * Limits the requests in a window of whole minutes. Denied requests count, too.
     *
     * On memcached the class uses the counters of the ext-memcache limiter, so old and new hosts
     * share these counters. A counter's key is prefix, address and `date('dHi')` in the script's
     * time zone, without the storage's prefix. On Redis the class uses the same counters under the
     * storage's prefix. Other storages keep a bucket for each prefix, address and number of
     * minutes. On these storages, denied requests are charged, up to a debt of one window.
     *
     * @implementation compat::minute_window::Window
     * @not-serializable
     */
    class MinuteWindow
    {
        private $storage;
        private $ip;
        private $prefix;

        /**
         * Creates the object. Contacts no storage.
         *
         * @param \TokenBucketStorage|\Memcached|\Memcache|\Redis $storage one of the extension's
         *     own storages, or a client whose settings are read once: its server and prefix
         * @param string $ip the client's address, or any other name
         * @param string $prefix separates limiters of the same address
         * @throws \TypeError if $storage is anything else
         * @throws \ValueError if the client cannot be used
         */
        public function __construct($storage, $ip, $prefix = 'rate') {}

        /**
         * Counts a request, and throws an exception if the window has more than $allowedRequests
         * requests.
         *
         * @param int $allowedRequests requests in the window
         * @param int $minutes the window: 1 to 40320 minutes
         * @throws RateExceededException if the request is denied
         */
        public function limitRequestsInMinutes($allowedRequests, $minutes) {}

        /**
         * Returns the seconds until a repetition of this object's last request would be allowed, if
         * no other request is made. Returns 0 if that request was allowed, and INF if no repetition
         * ever is.
         */
        public function retryAfter(): float {}
    }

    /**
     * Limits the calls of a client in a window.
     *
     * On memcached the class uses the record and the lock of the ext-memcache limiter, under the
     * key that key() returns. Another type of value under this key is left unchanged, and the
     * storage's failure policy decides. Other storages keep a bucket. Denied calls take tokens,
     * too, up to the debt that one window refills.
     *
     * @implementation compat::client_throttle::ClientThrottle
     * @not-serializable
     */
    class ClientThrottle
    {
        private $storage;

        /**
         * Creates the object. Contacts no storage.
         *
         * @param \TokenBucketStorage|\Memcached|\Memcache|\Redis $storage one of the extension's
         *     own storages, or a client whose settings are read once: its server and prefix
         * @throws \TypeError if $storage is anything else
         * @throws \ValueError if the client cannot be used
         */
        public function __construct($storage) {}

        /**
         * Takes a token of the client, and returns TRUE if the client is limited.
         *
         * If memcached or Redis fails, the storage's policy decides. Local and Allow return FALSE
         * and log "Unable to obtain lock ob", followed by the key. tokenbucket.failure_report may
         * turn this log line into an E_USER_WARNING, or suppress it. Deny returns TRUE. Throw
         * throws a TokenBucket\StorageException.
         *
         * @param string $id the client
         * @param int|float $limit calls in the window; 0 or more
         * @param int|float $window seconds; greater than 0, at most 1e9
         * @return bool TRUE if the client is limited
         * @throws \ValueError if the limit or the window is out of range
         */
        public function check($id, $limit, $window = 300) {}

        /**
         * Returns the seconds until the client of this object's last check() is no longer limited,
         * if no other call is made. Returns 0 if the client was not limited, and INF if the client
         * is always limited.
         */
        public function retryAfter(): float {}

        /**
         * Returns the name of a client's bucket: "throttle_" and the id. Override it to give each
         * application its own buckets.
         *
         * @param string $id the client
         * @return string the name
         */
        protected function key($id) {}
    }

    /**
     * Replaces the Yii component of this name. Allows $initNum requests at once, and as many in
     * each $expire seconds.
     *
     * On Redis the class uses the component's JSON record under $cacheKey, without the storage's
     * prefix. Other storages keep a bucket. Each call uses the current values of the properties.
     *
     * @implementation compat::rate_limiter::RateLimiter
     * @not-serializable
     */
    class RateLimiter
    {
        /**
         * @var \TokenBucketStorage|\Redis|null one of the extension's own storages, or a connected
         *     client whose settings are read once. null means this host's shared memory, as with
         *     TokenBucketStorageSharedMemory without a namespace
         */
        public $redis = null;

        /** @var string|null the bucket's name */
        public $cacheKey = null;

        /** @var int|float requests in $expire seconds; 0 denies every request */
        public $initNum = 30;

        /** @var int|float seconds */
        public $expire = 60;

        private $_storage = null;

        private $_client = null;

        /**
         * Sets the properties. If the key is empty, sets no property.
         *
         * @param string $cacheKey the bucket's name
         * @param int|float|string|null $initNum requests in $expire seconds; null or '' keeps the
         *     default
         * @param int|float|string|null $expire seconds; null or '' keeps the default
         */
        public function __construct($cacheKey = '', $initNum = 30, $expire = 60) {}

        /**
         * Takes a request from the bucket.
         *
         * @return bool true if the request is allowed
         * @throws \ValueError if $cacheKey is empty, or $initNum or $expire is out of range
         * @throws \TypeError if a property has another type
         */
        public function handler() {}

        /**
         * Returns the seconds until a repetition of this object's last request would be allowed, if
         * no other request is made. Returns 0 if that request was allowed, and INF if no repetition
         * ever is.
         */
        public function retryAfter(): float {}
    }

    /**
     * Limits the hits of a client's action. Allows $limit hits at once. One hit leaks every $period
     * seconds.
     *
     * On Redis the class uses the sorted sets set01 to set10, placed by Flexihash, and counts
     * denials in the sorted set "locked". Other storages keep a bucket that leaks at multiples of
     * the period.
     *
     * @implementation compat::leaky_bucket::LeakyBucket
     * @not-serializable
     */
    class LeakyBucket
    {
        private $_storages = null;

        /**
         * Creates the object. Contacts no storage.
         *
         * @param \TokenBucketStorage|\Redis|list<\TokenBucketStorageRedis|\Redis> $storage one of
         *     the extension's own storages, a connected client, or a list of Redis servers. The
         *     first set is on the first server, the second set on the second server, and so on in
         *     turn
         * @param int $period seconds in which one hit leaks; 1 to 4294967295
         * @param int $limit the most hits that the bucket holds; 1 to 4294967295
         * @param bool $dryRun true to admit every request; locked() then lists the clients that
         *     would be denied
         * @throws \TypeError if $storage has another type
         * @throws \ValueError if the list is empty, a client is not connected, or a number is out
         *     of range
         */
        public function __construct($storage, int $period = 30, int $limit = 6, bool $dryRun = false) {}

        /**
         * Gives an action its own limits and its own sets, "action:set01" to "action:set10".
         *
         * @param string $action the action
         * @param int $period seconds in which one hit leaks
         * @param int $limit the most hits that the bucket holds
         * @return static this object
         * @throws \ValueError if a number is out of range
         */
        public function bucket(string $action, int $period, int $limit): static {}

        /**
         * Counts a hit, and returns true if the request is admitted. A dry run always returns true.
         *
         * @param string $clientId the client
         * @param string $actionId the action
         * @return bool true if the request is admitted
         */
        public function request($clientId, $actionId): bool {}

        /**
         * Returns the hits that the bucket held after this object's last request. A denied request
         * is not a hit.
         */
        public function hits(): int {}

        /**
         * Returns the seconds until a repetition of this object's last request would be admitted,
         * if no other request is made. Returns 0 if that request was admitted. In a dry run, the
         * value is greater than 0 for a request that would be denied.
         */
        public function retryAfter(): float {}

        /**
         * Removes the hits that have leaked. request() does this for its own set. So cleanup() is
         * only needed for sets that get no requests.
         */
        public function cleanup(): void {}

        /**
         * Returns the most denied client-action pairs, most denied first. Redis keeps at least the
         * 10,000 most denied.
         *
         * @param int $top the number of pairs to return; greater than 0
         * @return array<string, int> denials by "client-action"
         * @throws \LogicException on other storages than Redis
         */
        public function locked(int $top = 10): array {}
    }
}
