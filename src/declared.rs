//! The classes and functions that the extension declares to PHP.
//!
//! Generated from stubs/tokenbucket.stub.php by `php -n scripts/declare.php`. Do not edit.

use zend::Class;
use zend::Number::{Float, Int};
use zend::method;
use zend::class::Property::{ReadOnly, Untyped, UntypedInt};
use zend::class::{ClassKind, Declaration};
use zend::declare::{
    END, Entries, FINAL, Info, NO_DYNAMIC_PROPERTIES, NOT_SERIALIZABLE, PRIVATE, PROTECTED,
    PUBLIC, STATIC, Type, abstract_entry, entry, optional, required, returns, untyped,
};
use crate::{
    classes, compat::client_throttle, compat::leaky_bucket, compat::minute_window,
    compat::rate_limiter, concurrency::limit, concurrency::permit, decision, guard::client_address,
    guard::decided, guard::guarded_client, guard::in_loop, http, lockout, log_replay, metrics,
    status, storage::interface, storage::memcached, storage::memory, storage::pdo, storage::redis,
    storage::shared_memory, token_bucket, token_bucket::quota, token_bucket::reservation,
};

// Parameters that several methods share.
const SERVER: Info = optional(c"server", Type::ARRAY.or(Type::NULL), c"NULL");
const MICROTIME: Info = untyped(c"microtime");
const TOKENS: Info = optional(c"tokens", Type::INT.or(Type::FLOAT), c"1");
const BUCKETS: Info = required(c"buckets", Type::ARRAY);
const PREFIX: Info = optional(c"prefix", Type::STRING, c"'tokenbucket:'");
const TIMEOUT: Info = optional(c"timeout", Type::FLOAT, c"0.05");
const ON_FAILURE: Info = optional(c"onFailure", Type::class(c"TokenBucket\\OnFailure"), c"TokenBucket\\OnFailure::Local");
const DENIAL_CACHE: Info = optional(c"denialCache", Type::BOOL, c"true");
const DENIAL_CACHE_MAX_AGE: Info = optional(c"denialCacheMaxAge", Type::FLOAT, c"1.0");
const TAKE_AHEAD: Info = optional(c"takeAhead", Type::FLOAT, c"0.0");
const SECONDS: Info = required(c"seconds", Type::FLOAT);
const IDENTIFIER: Info = untyped(c"identifier");
const STORAGE: Info = required(c"storage", Type::class(c"TokenBucketStorage"));
const LEGACY: Info = optional(c"legacy", Type::BOOL, c"false");
const ID: Info = untyped(c"id");
const LIMIT: Info = required(c"limit", Type::INT);

// Return types and parameters that several methods share.
const ATTEMPT: &[Info] = &[
    returns(0, Type::class(c"TokenBucket\\Decision")), TOKENS,
    optional(c"floor", Type::INT.or(Type::FLOAT), c"0"),
];
const BOOTSTRAP: &[Info] = &[returns(2, Type::NONE), IDENTIFIER, MICROTIME];
const CONSUME: &[Info] = &[
    returns(4, Type::NONE), IDENTIFIER, MICROTIME, untyped(c"full_microtime"),
    untyped(c"bootstrap_closure"),
];
const BLOCK: &[Info] = &[returns(1, Type::class(c"TokenBucket\\Decision")), SECONDS];
const STATUS: &[Info] = &[returns(0, Type::ARRAY)];
const PREPARE: &[Info] = &[returns(0, Type::NONE)];
const HELD: &[Info] = &[returns(0, Type::INT)];
const NOW: &[Info] = &[returns(0, Type::FLOAT)];
const RESET: &[Info] = &[returns(0, Type::VOID)];

/// The functions.
pub static FUNCTIONS: Entries = Entries(&[
    entry(c"TokenBucket\\status", 0, method!(status::status), STATUS),
    entry(c"TokenBucket\\metrics", 0, method!(metrics::metrics), &[returns(0, Type::STRING)]),
    entry(c"TokenBucket\\client_address", 0, method!(client_address::client_address),
        &[returns(0, Type::STRING.or(Type::NULL)), SERVER]),
    entry(c"TokenBucket\\guard", 0, method!(in_loop::guard),
        &[returns(0, Type::class(c"TokenBucket\\Permit").or(Type::NULL)), SERVER]),
    entry(c"TokenBucket\\guard_decisions", 0, method!(decided::guard_decisions),
        &[returns(0, Type::ARRAY.or(Type::NULL))]),
    END,
]);

/// The classes, each after the classes and interfaces that it extends or implements.
pub static CLASSES: [(&Class, Declaration); 26] = [
    (&classes::TOKEN_BUCKET_STORAGE, Declaration {
        kind: ClassKind::Interface,
        methods: Entries(&[
            abstract_entry(c"prepare", PREPARE), abstract_entry(c"bootstrap", BOOTSTRAP),
            abstract_entry(c"consume", CONSUME), END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET, Declaration {
        flags: NOT_SERIALIZABLE, state: Some(Class::carry::<token_bucket::Bucket>),
        constants: &[
            (c"MILLISECOND", Float(0.001)), (c"SECOND", Int(1)), (c"MINUTE", Int(60)),
            (c"HOUR", Int(3_600)), (c"DAY", Int(86_400)), (c"WEEK", Int(604_800)),
            (c"MICROTIME_DELTA", Float(0.0001)),
        ],
        properties: &[
            Untyped(c"_storage", PRIVATE), Untyped(c"_identifier", PROTECTED),
            Untyped(c"_bucket_capacity", PROTECTED), Untyped(c"_tokens_per_second", PROTECTED),
        ],
        methods: Entries(&[
            entry(c"compare_microtimes", PUBLIC | STATIC, method!(token_bucket::compare_microtimes),
                &[returns(2, Type::NONE), untyped(c"m1"), untyped(c"m2")]),
            entry(c"__construct", PUBLIC, method!(token_bucket::construct), &[
                returns(4, Type::NONE), STORAGE, IDENTIFIER, untyped(c"bucket_capacity"),
                untyped(c"tokens_per_second"),
            ]),
            entry(c"consume", PUBLIC, method!(token_bucket::consume),
                &[returns(0, Type::NONE), optional(c"token_count", Type::NONE, c"1")]),
            entry(c"attempt", PUBLIC, method!(token_bucket::attempt), ATTEMPT),
            entry(c"peek", PUBLIC, method!(token_bucket::peek), ATTEMPT),
            entry(c"charge", PUBLIC, method!(token_bucket::charge), &[
                returns(1, Type::class(c"TokenBucket\\Decision")),
                required(c"tokens", Type::INT.or(Type::FLOAT)),
            ]),
            entry(c"settle", PUBLIC, method!(token_bucket::settle), &[
                returns(2, Type::class(c"TokenBucket\\Decision")),
                required(c"reserved", Type::INT.or(Type::FLOAT)),
                required(c"actual", Type::INT.or(Type::FLOAT)),
            ]),
            entry(c"reserve", PUBLIC, method!(token_bucket::reserve), &[
                returns(0, Type::class(c"TokenBucket\\Reservation")), TOKENS,
                optional(c"maxWait", Type::FLOAT, c"INF"),
            ]),
            entry(c"wait", PUBLIC, method!(token_bucket::wait), &[
                returns(1, Type::class(c"TokenBucket\\Decision")),
                required(c"timeout", Type::FLOAT), TOKENS,
            ]),
            entry(c"refund", PUBLIC, method!(token_bucket::refund),
                &[returns(0, Type::VOID), TOKENS]),
            entry(c"reset", PUBLIC, method!(token_bucket::reset), RESET),
            entry(c"block", PUBLIC, method!(token_bucket::block), BLOCK),
            entry(c"drain", PUBLIC, method!(token_bucket::drain), &[
                returns(0, Type::class(c"TokenBucket\\Decision")),
                optional(c"tokens", Type::INT.or(Type::FLOAT), c"0"),
            ]),
            entry(c"attemptAll", PUBLIC | STATIC, method!(token_bucket::attempt_all),
                &[returns(1, Type::class(c"TokenBucket\\Decision")), BUCKETS, TOKENS]),
            entry(c"attemptEach", PUBLIC | STATIC, method!(token_bucket::attempt_each),
                &[returns(1, Type::ARRAY), BUCKETS]),
            entry(c"_bootstrap", PROTECTED, method!(token_bucket::bootstrap),
                &[returns(1, Type::NONE), untyped(c"initialTokens")]),
            entry(c"_tokens_to_seconds", PROTECTED, method!(token_bucket::tokens_to_seconds),
                &[returns(1, Type::NONE), untyped(c"tokens")]),
            entry(c"_seconds_to_tokens", PROTECTED, method!(token_bucket::seconds_to_tokens),
                &[returns(1, Type::NONE), untyped(c"seconds")]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_SHARED_MEMORY, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        interfaces: &["TokenBucketStorage"],
        state: Some(Class::carry::<shared_memory::SharedMemoryStorage>),
        properties: &[ReadOnly(c"namespace", PRIVATE, Type::STRING)],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(shared_memory::construct),
                &[returns(0, Type::NONE), optional(c"namespace", Type::STRING, c"''")]),
            entry(c"prepare", PUBLIC, method!(interface::prepare::<shared_memory::SharedMemoryStorage>),
                PREPARE),
            entry(c"bootstrap", PUBLIC, method!(interface::bootstrap::<shared_memory::SharedMemoryStorage>),
                BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(interface::consume::<shared_memory::SharedMemoryStorage>),
                CONSUME),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_REDIS, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        interfaces: &["TokenBucketStorage"], state: Some(Class::carry::<redis::RedisStorage>),
        properties: &[
            ReadOnly(c"server", PRIVATE, Type::STRING), ReadOnly(c"prefix", PRIVATE, Type::STRING),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(redis::construct), &[
                returns(1, Type::NONE), required(c"dsn", Type::STRING), PREFIX, TIMEOUT, ON_FAILURE,
                DENIAL_CACHE, DENIAL_CACHE_MAX_AGE, TAKE_AHEAD,
            ]),
            entry(c"fromClient", PUBLIC | STATIC, method!(redis::from_client), &[
                returns(1, Type::STATIC), required(c"redis", Type::OBJECT), PREFIX, TIMEOUT,
                ON_FAILURE, DENIAL_CACHE, DENIAL_CACHE_MAX_AGE, TAKE_AHEAD,
            ]),
            entry(c"sendCommands", PUBLIC, method!(redis::send_commands), &[
                returns(1, Type::ARRAY), required(c"commands", Type::ARRAY), TIMEOUT,
                optional(c"server", Type::STRING.or(Type::NULL), c"NULL"),
            ]),
            entry(c"prepare", PUBLIC, method!(interface::prepare::<redis::RedisStorage>), PREPARE),
            entry(c"bootstrap", PUBLIC, method!(interface::bootstrap::<redis::RedisStorage>),
                BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(interface::consume::<redis::RedisStorage>), CONSUME),
            END,
        ]),
        hidden: &[("__construct", 1)], ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_MEMCACHED, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        interfaces: &["TokenBucketStorage"],
        state: Some(Class::carry::<memcached::MemcachedStorage>),
        properties: &[
            ReadOnly(c"servers", PRIVATE, Type::STRING), ReadOnly(c"prefix", PRIVATE, Type::STRING),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(memcached::construct), &[
                returns(1, Type::NONE), required(c"servers", Type::STRING.or(Type::ARRAY)), PREFIX,
                TIMEOUT, ON_FAILURE, DENIAL_CACHE, DENIAL_CACHE_MAX_AGE, TAKE_AHEAD,
            ]),
            entry(c"fromClient", PUBLIC | STATIC, method!(memcached::from_client), &[
                returns(1, Type::STATIC), required(c"client", Type::OBJECT), PREFIX, TIMEOUT,
                ON_FAILURE, DENIAL_CACHE, DENIAL_CACHE_MAX_AGE, TAKE_AHEAD,
            ]),
            entry(c"prepare", PUBLIC, method!(interface::prepare::<memcached::MemcachedStorage>),
                PREPARE),
            entry(c"bootstrap", PUBLIC, method!(interface::bootstrap::<memcached::MemcachedStorage>),
                BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(interface::consume::<memcached::MemcachedStorage>),
                CONSUME),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_PDO, Declaration {
        flags: NOT_SERIALIZABLE, interfaces: &["TokenBucketStorage"],
        state: Some(Class::carry::<pdo::PdoStorage>),
        properties: &[
            Untyped(c"db", PRIVATE), Untyped(c"table", PRIVATE), Untyped(c"take", PRIVATE),
            Untyped(c"step", PRIVATE), Untyped(c"look", PRIVATE), Untyped(c"refund", PRIVATE),
            Untyped(c"reset", PRIVATE), Untyped(c"start", PRIVATE),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(pdo::construct), &[
                returns(2, Type::NONE), required(c"db", Type::class(c"PDO")),
                required(c"table", Type::STRING),
                optional(c"onFailure", Type::class(c"TokenBucket\\OnFailure"), c"TokenBucket\\OnFailure::Throw"),
                DENIAL_CACHE, DENIAL_CACHE_MAX_AGE, TAKE_AHEAD,
            ]),
            entry(c"prepare", PUBLIC, method!(interface::prepare::<pdo::PdoStorage>), PREPARE),
            entry(c"bootstrap", PUBLIC, method!(interface::bootstrap::<pdo::PdoStorage>),
                BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(interface::consume::<pdo::PdoStorage>), CONSUME),
            entry(c"purge", PUBLIC, method!(pdo::purge),
                &[returns(1, Type::INT), required(c"full_microtime", Type::FLOAT)]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_PDO_MY_SQL, Declaration {
        kind: ClassKind::Extends("TokenBucketStoragePDO"),
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(pdo::construct_mysql),
                &[returns(2, Type::NONE), untyped(c"db"), untyped(c"table_name")]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_MEMORY, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        interfaces: &["TokenBucketStorage"], state: Some(Class::carry::<memory::MemoryStorage>),
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(memory::construct), PREPARE),
            entry(c"prepare", PUBLIC, method!(interface::prepare::<memory::MemoryStorage>),
                PREPARE),
            entry(c"bootstrap", PUBLIC, method!(interface::bootstrap::<memory::MemoryStorage>),
                BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(interface::consume::<memory::MemoryStorage>),
                CONSUME),
            entry(c"advance", PUBLIC, method!(memory::advance), &[returns(1, Type::VOID), SECONDS]),
            entry(c"now", PUBLIC, method!(memory::now), NOW), END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::EXCEPTION, Declaration {
        kind: ClassKind::Interface, interfaces: &["Throwable"], ..Declaration::EMPTY
    }),
    (&classes::PERIOD, Declaration {
        kind: ClassKind::Enum(&[c"Minute", c"Hour", c"Day", c"Week", c"Month", c"Year"]),
        flags: FINAL, ..Declaration::EMPTY
    }),
    (&classes::QUOTA, Declaration {
        kind: ClassKind::Extends("TokenBucket"), flags: FINAL | NOT_SERIALIZABLE,
        properties: &[Untyped(c"_period", PRIVATE), Untyped(c"_anchor", PRIVATE)],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(quota::construct), &[
                returns(4, Type::NONE), STORAGE, IDENTIFIER, LIMIT,
                required(c"period", Type::class(c"TokenBucket\\Period")),
                optional(c"anchor", Type::class(c"DateTimeInterface").or(Type::NULL), c"NULL"),
            ]),
            entry(c"window", PUBLIC, method!(quota::window), &[
                returns(0, Type::ARRAY),
                optional(c"at", Type::class(c"DateTimeInterface").or(Type::NULL), c"NULL"),
            ]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::ON_FAILURE, Declaration {
        kind: ClassKind::Enum(&[c"Local", c"Allow", c"Deny", c"Throw"]), flags: FINAL,
        ..Declaration::EMPTY
    }),
    (&classes::STORAGE_EXCEPTION, Declaration {
        kind: ClassKind::Extends("RuntimeException"), interfaces: &["TokenBucket\\Exception"],
        ..Declaration::EMPTY
    }),
    (&classes::RESERVATION, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        state: Some(Class::carry::<reservation::Reservation>),
        properties: &[
            ReadOnly(c"decision", PUBLIC, Type::class(c"TokenBucket\\Decision")),
            ReadOnly(c"delay", PUBLIC, Type::FLOAT),
            ReadOnly(c"storage", PRIVATE, Type::class(c"TokenBucketStorage")),
            ReadOnly(c"identifier", PRIVATE, Type::STRING),
        ],
        methods: Entries(&[
            entry(c"__construct", PRIVATE, method!(reservation::construct), PREPARE),
            entry(c"wait", PUBLIC, method!(reservation::wait), RESET),
            entry(c"cancel", PUBLIC, method!(reservation::cancel), RESET), END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::LOCKOUT, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        state: Some(Class::carry::<lockout::LockoutState>),
        properties: &[
            ReadOnly(c"storage", PRIVATE, Type::class(c"TokenBucketStorage")),
            ReadOnly(c"identifier", PRIVATE, Type::STRING),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(lockout::construct), &[
                returns(2, Type::NONE), STORAGE, required(c"identifier", Type::STRING),
                optional(c"attempts", Type::INT, c"5"), optional(c"block", Type::FLOAT, c"900.0"),
                optional(c"factor", Type::FLOAT, c"2.0"),
                optional(c"maxBlock", Type::FLOAT, c"86400.0"),
            ]),
            entry(c"attempt", PUBLIC, method!(lockout::attempt),
                &[returns(0, Type::class(c"TokenBucket\\Decision"))]),
            entry(c"peek", PUBLIC, method!(lockout::peek),
                &[returns(0, Type::class(c"TokenBucket\\Decision"))]),
            entry(c"succeed", PUBLIC, method!(lockout::succeed), RESET),
            entry(c"cancel", PUBLIC, method!(lockout::cancel), &[
                returns(1, Type::BOOL), required(c"attempt", Type::class(c"TokenBucket\\Decision")),
            ]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::ACCESS_DENIED_EXCEPTION, Declaration {
        kind: ClassKind::Extends("RuntimeException"), interfaces: &["TokenBucket\\Exception"],
        ..Declaration::EMPTY
    }),
    (&classes::GUARDED_CLIENT, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        state: Some(Class::carry::<guarded_client::GuardedClient>),
        properties: &[
            ReadOnly(c"limit", PUBLIC, Type::STRING),
            ReadOnly(c"client", PUBLIC, Type::STRING.or(Type::NULL)),
            ReadOnly(c"identifier", PRIVATE, Type::STRING),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(guarded_client::construct), &[
                returns(2, Type::NONE), required(c"limit", Type::STRING),
                required(c"values", Type::ARRAY),
                optional(c"password", Type::STRING.or(Type::NULL), c"NULL"),
            ]),
            entry(c"peek", PUBLIC, method!(guarded_client::peek),
                &[returns(0, Type::class(c"TokenBucket\\Decision"))]),
            entry(c"reset", PUBLIC, method!(guarded_client::reset), RESET),
            entry(c"block", PUBLIC, method!(guarded_client::block), BLOCK), END,
        ]),
        hidden: &[("__construct", 3)], ..Declaration::EMPTY
    }),
    (&classes::LOG_REPLAY, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        state: Some(Class::carry::<log_replay::LogReplay>),
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(log_replay::construct), &[
                returns(10, Type::NONE), required(c"logs", Type::INT),
                required(c"format", Type::ARRAY), required(c"guard", Type::STRING),
                required(c"enforces", Type::BOOL), required(c"trusted", Type::STRING),
                required(c"allowed", Type::STRING), required(c"strangers", Type::STRING),
                required(c"groups", Type::ARRAY), required(c"skipped", Type::ARRAY),
                required(c"listsAll", Type::BOOL),
            ]),
            entry(c"next", PUBLIC, method!(log_replay::next),
                &[returns(0, Type::INT.or(Type::NULL))]),
            entry(c"read", PUBLIC, method!(log_replay::read), &[
                returns(3, Type::STRING), required(c"log", Type::INT),
                required(c"bytes", Type::STRING), required(c"isOver", Type::BOOL),
            ]),
            entry(c"text", PUBLIC, method!(log_replay::text), &[
                returns(2, Type::STRING), required(c"kind", Type::STRING),
                required(c"number", Type::INT),
            ]),
            entry(c"summary", PUBLIC, method!(log_replay::summary), STATUS),
            entry(c"ask", PUBLIC, method!(log_replay::ask),
                &[returns(1, Type::VOID), required(c"questions", Type::ARRAY)]),
            entry(c"weigh", PUBLIC, method!(log_replay::weigh),
                &[returns(1, Type::VOID), required(c"requests", Type::STRING)]),
            entry(c"answer", PUBLIC, method!(log_replay::answer),
                &[returns(1, Type::ARRAY), required(c"question", Type::INT)]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::CONCURRENCY_LIMIT, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        state: Some(Class::carry::<limit::ConcurrencyLimit>),
        properties: &[
            ReadOnly(c"storage", PRIVATE, Type::class(c"TokenBucketStorage")),
            ReadOnly(c"identifier", PRIVATE, Type::STRING), ReadOnly(c"limit", PRIVATE, Type::INT),
            ReadOnly(c"lease", PRIVATE, Type::FLOAT),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(limit::construct), &[
                returns(3, Type::NONE), STORAGE, required(c"identifier", Type::STRING), LIMIT,
                optional(c"lease", Type::FLOAT, c"60.0"),
            ]),
            entry(c"acquire", PUBLIC, method!(limit::acquire), &[
                returns(0, Type::class(c"TokenBucket\\Permit")),
                optional(c"timeout", Type::FLOAT, c"0.0"),
                optional(c"maxWaiting", Type::INT.or(Type::NULL), c"NULL"),
            ]),
            entry(c"held", PUBLIC, method!(limit::held), HELD), END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::PERMIT, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        state: Some(Class::carry::<permit::PermitState>),
        properties: &[ReadOnly(c"decision", PUBLIC, Type::class(c"TokenBucket\\Decision"))],
        methods: Entries(&[
            entry(c"__construct", PRIVATE, method!(permit::construct), PREPARE),
            entry(c"release", PUBLIC, method!(permit::release), RESET),
            entry(c"renew", PUBLIC, method!(permit::renew), &[returns(0, Type::BOOL)]), END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::DECISION, Declaration {
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE, interfaces: &["JsonSerializable"],
        state: Some(Class::carry::<decision::DecisionState>),
        properties: &[
            ReadOnly(c"allowed", PUBLIC, Type::BOOL), ReadOnly(c"remaining", PUBLIC, Type::FLOAT),
            ReadOnly(c"capacity", PUBLIC, Type::FLOAT),
            ReadOnly(c"retryAfter", PUBLIC, Type::FLOAT),
            ReadOnly(c"resetAfter", PUBLIC, Type::FLOAT), ReadOnly(c"reason", PUBLIC, Type::STRING),
            ReadOnly(c"fallback", PUBLIC, Type::BOOL),
            ReadOnly(c"refusedBy", PUBLIC, Type::STRING.or(Type::NULL).or(Type::INT)),
            ReadOnly(c"unit", PUBLIC, Type::STRING.or(Type::NULL)),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(decision::construct), &[
                returns(1, Type::NONE), required(c"allowed", Type::BOOL),
                optional(c"remaining", Type::FLOAT, c"0.0"),
                optional(c"capacity", Type::FLOAT, c"0.0"),
                optional(c"retryAfter", Type::FLOAT, c"0.0"),
                optional(c"resetAfter", Type::FLOAT, c"0.0"),
                optional(c"reason", Type::STRING, c"''"),
                optional(c"fallback", Type::BOOL, c"false"),
                optional(c"refusedBy", Type::STRING.or(Type::NULL).or(Type::INT), c"NULL"),
                optional(c"unit", Type::STRING.or(Type::NULL), c"NULL"),
            ]),
            entry(c"jsonSerialize", PUBLIC, method!(decision::json_serialize), STATUS),
            entry(c"headers", PUBLIC, method!(decision::headers), &[
                returns(0, Type::ARRAY), optional(c"policy", Type::STRING, c"'default'"), LEGACY,
                optional(c"partition", Type::STRING.or(Type::NULL), c"NULL"),
            ]),
            entry(c"headersOf", PUBLIC | STATIC, method!(http::headers_of),
                &[returns(1, Type::ARRAY), required(c"decisions", Type::ARRAY), LEGACY]),
            entry(c"problem", PUBLIC, method!(http::problem),
                &[returns(0, Type::ARRAY), optional(c"policies", Type::ARRAY, c"array (
)")]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::RATE_EXCEEDED_EXCEPTION, Declaration {
        kind: ClassKind::Extends("Exception"), interfaces: &["TokenBucket\\Exception"],
        ..Declaration::EMPTY
    }),
    (&classes::MINUTE_WINDOW, Declaration {
        flags: NOT_SERIALIZABLE, state: Some(Class::carry::<minute_window::Window>),
        properties: &[
            Untyped(c"storage", PRIVATE), Untyped(c"ip", PRIVATE), Untyped(c"prefix", PRIVATE),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(minute_window::construct), &[
                returns(2, Type::NONE), untyped(c"storage"), untyped(c"ip"),
                optional(c"prefix", Type::NONE, c"'rate'"),
            ]),
            entry(c"limitRequestsInMinutes", PUBLIC, method!(minute_window::limit_requests_in_minutes),
                &[returns(2, Type::NONE), untyped(c"allowedRequests"), untyped(c"minutes")]),
            entry(c"retryAfter", PUBLIC, method!(minute_window::retry_after), NOW), END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::CLIENT_THROTTLE, Declaration {
        flags: NOT_SERIALIZABLE, state: Some(Class::carry::<client_throttle::ClientThrottle>),
        properties: &[Untyped(c"storage", PRIVATE)],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(client_throttle::construct),
                &[returns(1, Type::NONE), untyped(c"storage")]),
            entry(c"check", PUBLIC, method!(client_throttle::check), &[
                returns(2, Type::NONE), ID, untyped(c"limit"),
                optional(c"window", Type::NONE, c"300"),
            ]),
            entry(c"retryAfter", PUBLIC, method!(client_throttle::retry_after), NOW),
            entry(c"key", PROTECTED, method!(client_throttle::key), &[returns(1, Type::NONE), ID]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::RATE_LIMITER, Declaration {
        flags: NOT_SERIALIZABLE, state: Some(Class::carry::<rate_limiter::RateLimiter>),
        properties: &[
            Untyped(c"redis", PUBLIC), Untyped(c"cacheKey", PUBLIC),
            UntypedInt(c"initNum", PUBLIC, 30), UntypedInt(c"expire", PUBLIC, 60),
            Untyped(c"_storage", PRIVATE), Untyped(c"_client", PRIVATE),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(rate_limiter::construct), &[
                returns(0, Type::NONE), optional(c"cacheKey", Type::NONE, c"''"),
                optional(c"initNum", Type::NONE, c"30"), optional(c"expire", Type::NONE, c"60"),
            ]),
            entry(c"handler", PUBLIC, method!(rate_limiter::handler), PREPARE),
            entry(c"retryAfter", PUBLIC, method!(rate_limiter::retry_after), NOW), END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::LEAKY_BUCKET, Declaration {
        flags: NOT_SERIALIZABLE, state: Some(Class::carry::<leaky_bucket::LeakyBucket>),
        properties: &[Untyped(c"_storages", PRIVATE)],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(leaky_bucket::construct), &[
                returns(1, Type::NONE), untyped(c"storage"), optional(c"period", Type::INT, c"30"),
                optional(c"limit", Type::INT, c"6"), optional(c"dryRun", Type::BOOL, c"false"),
            ]),
            entry(c"bucket", PUBLIC, method!(leaky_bucket::bucket), &[
                returns(3, Type::STATIC), required(c"action", Type::STRING),
                required(c"period", Type::INT), LIMIT,
            ]),
            entry(c"request", PUBLIC, method!(leaky_bucket::request),
                &[returns(2, Type::BOOL), untyped(c"clientId"), untyped(c"actionId")]),
            entry(c"hits", PUBLIC, method!(leaky_bucket::hits), HELD),
            entry(c"retryAfter", PUBLIC, method!(leaky_bucket::retry_after), NOW),
            entry(c"cleanup", PUBLIC, method!(leaky_bucket::cleanup), RESET),
            entry(c"locked", PUBLIC, method!(leaky_bucket::locked),
                &[returns(0, Type::ARRAY), optional(c"top", Type::INT, c"10")]),
            END,
        ]),
        ..Declaration::EMPTY
    }),
];
