<?php

/**
 * What the tokenbucket extension declares, for IDEs and static analysers.
 *
 * Seconds are floats; tokens may be fractions. scripts/declare.php generates the extension's own tables
 * from this file; it explains the tags implementation, strict-properties and not-serializable.
 */

namespace {
    /**
     * A place where buckets live. Any class may implement it; the extension's own do so natively.
     *
     * Storages know time, not tokens: costs and spans are given in seconds, so that a storage
     * needs neither the capacity nor the rate of a bucket.
     *
     * @implementation storage::interface::StorageState
     */
    interface TokenBucketStorage
    {
        /** Prepares the storage (creates a table, say). Never called by TokenBucket itself. */
        public function prepare();

        /**
         * Creates the bucket's record when there is none; never overwrites one.
         *
         * @param string $identifier the bucket's name
         * @param float $microtime the wall-clock second (as from microtime(true)) at which the bucket was, or will be, empty
         */
        public function bootstrap($identifier, $microtime);

        /**
         * Takes tokens, atomically, if they are there.
         *
         * @param string $identifier the bucket's name
         * @param float $microtime seconds that refill what is to be taken
         * @param float $full_microtime seconds that refill the whole bucket
         * @param \Closure(): bool $bootstrap_closure called when the bucket has no record; a falsy result means "denied"
         * @return bool whether the tokens were taken
         */
        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure);
    }

    /**
     * A token bucket: holds at most $bucket_capacity tokens and gains $tokens_per_second.
     *
     * Not final. The untyped methods and properties are untyped on purpose: code written against
     * the well-known userland class of this name overrides them without types.
     *
     * @implementation token_bucket::Bucket
     * @not-serializable
     */
    class TokenBucket
    {
        public const MILLISECOND = 0.001;
        public const SECOND = 1;
        public const MINUTE = 60;
        public const HOUR = 3600;
        public const DAY = 86400;
        public const WEEK = 604800;
        public const MICROTIME_DELTA = 0.0001;

        private $_storage;
        protected $_identifier;
        protected $_bucket_capacity;
        protected $_tokens_per_second;

        /**
         * Compares two times with the relative tolerance MICROTIME_DELTA.
         *
         * @param float $m1
         * @param float $m2
         * @return int 0 when equal within the tolerance, 1 when $m1 is later, -1 when it is earlier
         */
        public static function compare_microtimes($m1, $m2) {}

        /**
         * @param string $identifier any bytes of any length
         * @param int|float $bucket_capacity most tokens the bucket holds; finite and greater than 0
         * @param int|float $tokens_per_second tokens added a second; finite and greater than 0
         * @throws ValueError naming the argument that is out of range
         */
        public function __construct(TokenBucketStorage $storage, $identifier, $bucket_capacity, $tokens_per_second) {}

        /**
         * Takes tokens if they are there.
         *
         * @param int|float $token_count 0 or more; more than the capacity is denied without asking the storage
         * @return bool whether the tokens were taken
         */
        public function consume($token_count = 1) {}

        /** Takes tokens if they are there, and tells the whole answer. */
        public function attempt(int|float $tokens = 1): TokenBucket\Decision {}

        /**
         * What attempt() would answer now. Takes nothing. A bucket without a record counts as full.
         *
         * @throws LogicException over a userland storage; likewise refund() and reset()
         */
        public function peek(int|float $tokens = 1): TokenBucket\Decision {}

        /**
         * Takes tokens, sleeping until they are there.
         *
         * Returns a denial at once when they cannot be there within $timeout, and when a signal
         * that PHP must handle arrives.
         *
         * @param float $timeout seconds, 0 or more
         */
        public function wait(float $timeout, int|float $tokens = 1): TokenBucket\Decision {}

        /** Gives tokens back. The bucket never holds more than its capacity. */
        public function refund(int|float $tokens = 1): void {}

        /** Fills the bucket. */
        public function reset(): void {}

        /**
         * Takes tokens from every bucket, or from none.
         *
         * A bucket named twice pays twice. On one Redis server this is one operation. Elsewhere the
         * buckets are asked first and then charged one after the other; what was charged is refunded when
         * one of them refuses after all. Meant for a handful: the time grows with the square of their
         * number.
         *
         * @throws LogicException over a userland storage, and for a class that overrides _bootstrap()
         * @param non-empty-array<TokenBucket> $buckets
         * @return TokenBucket\Decision the refusing bucket's, else that of the bucket with the fewest tokens left
         */
        public static function attemptAll(array $buckets, int|float $tokens = 1): TokenBucket\Decision {}

        /**
         * Writes the first record of a bucket that holds $initialTokens.
         *
         * @param int|float $initialTokens
         */
        protected function _bootstrap($initialTokens) {}

        /**
         * @param int|float $tokens
         * @return float seconds that refill so many tokens
         */
        protected function _tokens_to_seconds($tokens) {}

        /**
         * @param float $seconds
         * @return float tokens added in so many seconds
         */
        protected function _seconds_to_tokens($seconds) {}
    }

    /**
     * Buckets in memory shared by every worker of a php-fpm master (see tokenbucket.shm_path for more).
     *
     * @implementation storage::shared_memory::SharedMemoryStorage
     * @strict-properties
     * @not-serializable
     */
    final class TokenBucketStorageSharedMemory implements TokenBucketStorage
    {
        private readonly string $namespace;

        /** @param string $namespace keeps apart buckets of the same identifier */
        public function __construct(string $namespace = '') {}

        /** Does nothing: shared memory needs no preparation. */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
    }

    /**
     * Buckets on a Redis server (or Valkey), shared by every host that uses it. One round trip a decision, on
     * the server's clock; none for a denial that this host has seen within $hintMaxAge.
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
         * Connects to nothing yet: the first call does, and the connection is kept for the worker's life.
         *
         * @param string $dsn redis://[user[:password]@]host[:port][/database], rediss://… for TLS
         *     (?cafile=/path/ca.pem, ?servername=name), or unix:///path[?db=n&user=…&password=…];
         *     user, password and path percent-encoded
         * @param string $prefix a bucket's key is prefix and identifier
         * @param float $timeout seconds that one call may take, connecting included; the look-up of a name is not
         * @param bool $hints whether this host remembers denials, so as not to ask again at once, and to hold them
         *     when the server has lost its data
         * @param float $hintMaxAge seconds for which a denial is told unasked, hence after which a refund or reset
         *     of another host is honoured
         * @throws ValueError for a DSN or a number that makes no sense
         */
        public function __construct(
            #[\SensitiveParameter] string $dsn,
            string $prefix = 'tokenbucket:',
            float $timeout = 0.05,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Local,
            bool $hints = true,
            float $hintMaxAge = 1.0
        ) {}

        /**
         * The storage on the server that a live client of phpredis is connected to, over a connection of its own:
         * the client is asked for host, port, socket, user, password, database and its own prefix, nothing else.
         *
         * A bucket's key is the client's Redis::OPT_PREFIX, $prefix and identifier. Over TLS the public CAs are
         * trusted, for a client does not tell which others it trusts: give a DSN with cafile then.
         *
         * @param \Redis $redis or another client with its methods
         * @throws TypeError for what is no client
         * @throws ValueError for a client that is not connected
         */
        public static function fromClient(
            object $redis,
            string $prefix = 'tokenbucket:',
            float $timeout = 0.05,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Local,
            bool $hints = true,
            float $hintMaxAge = 1.0
        ): static {}

        /** Does nothing: Redis needs no preparation. */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
    }

    /**
     * Buckets on memcached servers, shared by every host that uses them, on the hosts' wall clocks: keep them
     * in step. One round trip a decision as long as nobody else takes from the bucket.
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
         * Connects to nothing yet: the first call does, and the connection is kept for the worker's life.
         *
         * @param string|list<string> $servers host[:port] or unix:///path, each with ?weight=n if need be; several
         *     in one string apart by commas. Keys are placed as ext-memcached does with OPT_LIBKETAMA_COMPATIBLE
         * @param string $prefix a bucket's key is prefix and identifier; what memcached cannot take is hashed
         * @param float $timeout seconds that one call may take, connecting included; the look-up of a name is not
         * @param bool $hints as in TokenBucketStorageRedis
         * @param float $hintMaxAge as in TokenBucketStorageRedis
         * @throws ValueError for a server or a number that makes no sense
         */
        public function __construct(
            string|array $servers,
            string $prefix = 'tokenbucket:',
            float $timeout = 0.05,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Local,
            bool $hints = true,
            float $hintMaxAge = 1.0
        ) {}

        /**
         * The storage that a client of ext-memcached is set up for: its servers, its placement, and its
         * OPT_PREFIX_KEY in front of every key. The connection is another one.
         *
         * Weights cannot be read from a client: with several servers of different ones, name them in the
         * constructor. So with a \Memcache, which does not tell its servers at all.
         *
         * @param \Memcached $client
         * @param string $prefix a bucket's key is the client's prefix, this one and the identifier
         * @throws ValueError for a client whose keys would be looked for elsewhere
         */
        public static function fromClient(
            object $client,
            string $prefix = 'tokenbucket:',
            float $timeout = 0.05,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Local,
            bool $hints = true,
            float $hintMaxAge = 1.0
        ): static {}

        /** Does nothing: memcached needs no preparation. */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}
    }

    /**
     * Buckets in a table of MySQL, MariaDB, PostgreSQL or SQLite (3.35), through the application's own PDO object.
     * One statement a decision, on the server's clock (SQLite: two for a denial, on the host's); none for a denial that this host has seen
     * within $hintMaxAge. Denials write nothing.
     *
     * Inside a transaction of the application's a decision is part of it: a rollback gives the tokens back, others
     * that ask for the same bucket wait until its end, and nothing is denied unasked. PDO knows no deadline.
     * On MySQL and MariaDB a decision sets what PDO::lastInsertId() returns.
     *
     * Not final; a class that overrides prepare(), bootstrap() or consume() is treated as a userland storage.
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
         * Runs nothing on the connection. Statements are prepared once for this object.
         *
         * @param PDO $db in any error mode, with emulated or native prepares
         * @param string $table the table, or schema.table: letters, digits, "_", "$" and "-". It is quoted, so
         *     PostgreSQL takes upper-case letters for what they are
         * @param bool $hints whether this host remembers denials, so as not to ask again at once; not in a transaction,
         *     nor on SQLite, which does not tell of every transaction
         * @param float $hintMaxAge seconds for which a denial is told unasked
         * @throws ValueError for another driver, or a table or a number that makes no sense
         */
        public function __construct(
            PDO $db,
            string $table,
            TokenBucket\OnFailure $onFailure = TokenBucket\OnFailure::Throw,
            bool $hints = true,
            float $hintMaxAge = 1.0
        ) {}

        /**
         * Creates the table (identifier varchar(255) PRIMARY KEY, microtime double) when it is missing.
         *
         * @throws TokenBucket\StorageException when that fails, or would commit an open transaction (MySQL, MariaDB)
         */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}

        /**
         * Deletes, some at a time, the rows of buckets that have been full for so long that they are as good as new.
         *
         * @param float $full_microtime seconds that refill the largest bucket of the table
         * @return int how many there were
         */
        public function purge(float $full_microtime): int {}
    }

    /** The same on MySQL and MariaDB only, with the constructor of the well-known userland class of this name. */
    class TokenBucketStoragePDOMySQL extends TokenBucketStoragePDO
    {
        /**
         * @param PDO $db
         * @param string $table_name
         * @implementation-alias storage::pdo::construct_mysql
         */
        public function __construct($db, $table_name) {}
    }

    /**
     * Buckets in the memory of this object, on a clock that stands still until it is advanced. For tests.
     *
     * @implementation storage::memory::MemoryStorage
     * @strict-properties
     * @not-serializable
     */
    final class TokenBucketStorageMemory implements TokenBucketStorage
    {
        public function __construct() {}

        /** Does nothing. */
        public function prepare() {}

        public function bootstrap($identifier, $microtime) {}

        public function consume($identifier, $microtime, $full_microtime, $bootstrap_closure) {}

        /**
         * Lets time pass. wait() on a bucket in this storage advances it too, instead of sleeping.
         *
         * @param float $seconds 0 or more
         */
        public function advance(float $seconds): void {}
    }
}

namespace TokenBucket {
    /** Implemented by every exception class of this extension. */
    interface Exception extends \Throwable
    {
    }

    /** What happens when a store fails: each use is counted in status(), and the first of an outage warns. */
    enum OnFailure
    {
        /** Buckets of the same quota in this host's shared memory decide: on H hosts up to H times the limit. */
        case Local;
        /** Every call is allowed. */
        case Allow;
        /** Every call is denied, with the reason 'unavailable'. */
        case Deny;
        /** A StorageException is thrown. */
        case Throw;
    }

    /** A storage failed. */
    class StorageException extends \RuntimeException implements Exception
    {
    }

    /**
     * The answer to one call: read-only, and complete without asking the storage again.
     *
     * @implementation decision::Answer
     * @strict-properties
     * @not-serializable
     */
    final class Decision
    {
        /** Whether the tokens were taken (for peek(): would be). */
        public readonly bool $allowed;

        /** Whole tokens left. */
        public readonly float $remaining;

        /** Most tokens the bucket holds. */
        public readonly float $capacity;

        /** Seconds until the same call would succeed if nobody else took tokens; 0 when allowed, INF when never. */
        public readonly float $retryAfter;

        /** Seconds until the bucket is full if nobody took tokens. */
        public readonly float $resetAfter;

        /** 'granted', 'insufficient_tokens', 'exceeds_capacity', 'contended', 'table_full', 'unavailable' or 'interrupted'. */
        public readonly string $reason;

        private function __construct() {}

        /**
         * HTTP response fields of draft-ietf-httpapi-ratelimit-headers, and Retry-After on a denial.
         *
         * @param string $policy the policy's name: printable ASCII
         * @param bool $legacy adds X-RateLimit-Limit, -Remaining and -Reset (an epoch second)
         * @return array<string, string>
         */
        public function headers(string $policy = 'default', bool $legacy = false): array {}
    }

    /**
     * What the extension did and holds on this host.
     *
     * @return array{
     *     version: string,
     *     shared_memory: array{
     *         backing: string, path: string, size: int, full: string,
     *         slots: int, live: int, reclaimable: int, pending: int, empty: int,
     *         granted: int, denied: int, refunds: int, resets: int,
     *         inserted: int, reclaimed: int, adopted: int, duplicates: int, stolen: int,
     *         conflicts: int, contended: int, refused: int,
     *         evicted: int, evicted_seconds: float, evicted_seconds_max: float,
     *         age: float
     *     },
     *     most_denied: list<array{identifier: string, denied: int}>,
     *     remote: array{
     *         asked: int, hinted: int, failed: int, opened: int,
     *         local: int, allowed: int, denied: int, thrown: int
     *     },
     *     stores: list<array{
     *         name: string, breaker: 'closed'|'open', failures: int, opened: int, retry_after: float
     *     }>
     * }
     * @implementation info::status
     */
    function status(): array {}
}

/**
 * Limiters that people run already, with their own interfaces and records.
 *
 * Not final, and untyped on purpose: code written against the well-known userland classes extends them.
 */
namespace TokenBucket\Compat {
    /** More requests than MinuteWindow allows. Its message is empty. */
    class RateExceededException extends \Exception implements \TokenBucket\Exception
    {
    }

    /**
     * So many requests in the last so many minutes; denied ones count, too.
     *
     * On memcached the counters are those that code on ext-memcache writes (the raw key is prefix, address and
     * date('dHi') in the script's time zone, whatever the storage's own prefix), so old and new servers
     * count together. On Redis there are the same under the storage's prefix. Elsewhere it is a bucket for each
     * prefix, address and number of minutes, whose denials are charged up to one window.
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
         * @param \TokenBucketStorage $storage one of the extension's own
         * @param string $ip
         * @param string $prefix
         */
        public function __construct($storage, $ip, $prefix = 'rate') {}

        /**
         * @param int $allowedRequests
         * @param int $minutes from 1 to 40320
         * @throws RateExceededException for every request beyond
         */
        public function limitRequestsInMinutes($allowedRequests, $minutes) {}
    }

    /**
     * Is a client over its limit in a window?
     *
     * On memcached the record is the array that code on ext-memcache keeps under key(), changed inside of
     * its lock; anything else found there is left alone, and the storage's policy decides. Elsewhere it is a
     * bucket. Denied calls take tokens, too, down to what one window makes good.
     *
     * @implementation compat::client_throttle::Limiter
     * @not-serializable
     */
    class ClientThrottle
    {
        private $storage;

        /** @param \TokenBucketStorage $storage one of the extension's own */
        public function __construct($storage) {}

        /**
         * Where the store gives no answer: FALSE and an E_USER_WARNING "Unable to obtain lock ob <key>" if the
         * storage's policy is Local or Allow; TRUE if it is Deny; an exception if it is Throw.
         *
         * @param string $id
         * @param int|float $limit calls a window; 0 or more
         * @param int|float $window seconds, more than 0
         * @return bool TRUE if the client is limited
         */
        public function check($id, $limit, $window = 300) {}

        /**
         * The name of a client's bucket; here "throttle_<id>". Override it to give each application its own.
         *
         * @param string $id
         * @return string
         */
        protected function key($id) {}
    }

    /**
     * $initNum requests at once, and as many more each $expire seconds: the Yii component of this name.
     *
     * On Redis the bucket is the component's JSON object under $cacheKey itself, without the storage's prefix; on
     * other storages it is a bucket as any other. The values in the properties count, at each call.
     *
     * @implementation compat::rate_limiter::Limiter
     * @not-serializable
     */
    class RateLimiter
    {
        /**
         * @var \TokenBucketStorage|\Redis|null one of the extension's own storages, or a connected client, asked for
         *     its settings once; null for the shared memory of this host, as new TokenBucketStorageSharedMemory
         */
        public $redis = null;

        public $cacheKey = null;

        /** @var int|float requests in $expire seconds; 0 allows none */
        public $initNum = 30;

        /** @var int|float seconds */
        public $expire = 60;

        private $_storage = null;

        private $_client = null;

        /**
         * Without a key nothing is set.
         *
         * @param int|float|string|null $initNum null or '' leaves the property as it is, and so for $expire
         */
        public function __construct($cacheKey = '', $initNum = 30, $expire = 60) {}

        /**
         * @return bool whether the request is allowed
         * @throws \ValueError for properties of no use
         */
        public function handler() {}
    }

    /**
     * $limit hits of a client's action, of which one leaks every $period seconds.
     *
     * On Redis the hits are in the sorted sets set01 to set10, placed by Flexihash, and "locked" counts denials.
     *
     * @implementation compat::leaky_bucket::Bucket
     * @not-serializable
     */
    class LeakyBucket
    {
        private $_storages = null;

        /**
         * @param \TokenBucketStorage|\Redis|list<\TokenBucketStorageRedis|\Redis> $storage one of the extension's own
         *     storages, a connected client, or several servers: set number n is on number n modulo their count,
         *     the first set on the first
         * @param int $period seconds in which one hit leaks
         * @param int $limit hits held at most
         * @param bool $dryRun whether every request is admitted, and locked() tells who would not be
         */
        public function __construct($storage, int $period = 30, int $limit = 6, bool $dryRun = false) {}

        /** Gives an action limits of its own, and sets of its own: "action:set01" to "action:set10". */
        public function bucket(string $action, int $period, int $limit): static {}

        /** Whether the request is admitted: always in a dry run. */
        public function request($clientId, $actionId): bool {}

        /** Lets leak what is due. request() does so too, so this is only for sets that nobody asks for. */
        public function cleanup(): void {}

        /**
         * Who was denied most, and how often; kept on Redis only, for the 10,000 worst at least.
         *
         * @return array<string, int> denials by "client-action"
         * @throws \LogicException on other storages
         */
        public function locked(int $top = 10): array {}
    }
}
