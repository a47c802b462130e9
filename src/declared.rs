//! The classes and functions that the extension declares to PHP.
//!
//! Generated from stubs/tokenbucket.stub.php by `php -n scripts/declare.php`. Do not edit.

use crate::zend::Class;
use crate::zend::call::method;
use crate::zend::class::{Constant, Declaration, Kind, Property};
use crate::zend::declare::{
    END, Entries, FINAL, Info, NO_DYNAMIC_PROPERTIES, NOT_SERIALIZABLE, PRIVATE, PROTECTED,
    PUBLIC, STATIC, Type, abstract_entry, entry, optional, required, returns,
};
use crate::{classes, compat, decision, info, storage, token_bucket};

const TOKEN_BUCKET_STORAGE_PREPARE: &[Info] = &[returns(0, Type::NONE)];
const TOKEN_BUCKET_STORAGE_BOOTSTRAP: &[Info] = &[
    returns(2, Type::NONE), required(c"identifier", Type::NONE), required(c"microtime", Type::NONE),
];
const TOKEN_BUCKET_STORAGE_CONSUME: &[Info] = &[
    returns(4, Type::NONE), required(c"identifier", Type::NONE), required(c"microtime", Type::NONE),
    required(c"full_microtime", Type::NONE), required(c"bootstrap_closure", Type::NONE),
];
const TOKEN_BUCKET_COMPARE_MICROTIMES: &[Info] = &[
    returns(2, Type::NONE), required(c"m1", Type::NONE), required(c"m2", Type::NONE),
];
const TOKEN_BUCKET_CONSTRUCT: &[Info] = &[
    returns(4, Type::NONE), required(c"storage", Type::class(c"TokenBucketStorage")),
    required(c"identifier", Type::NONE), required(c"bucket_capacity", Type::NONE),
    required(c"tokens_per_second", Type::NONE),
];
const TOKEN_BUCKET_CONSUME: &[Info] = &[
    returns(0, Type::NONE), optional(c"token_count", Type::NONE, c"1"),
];
const TOKEN_BUCKET_ATTEMPT: &[Info] = &[
    returns(0, Type::class(c"TokenBucket\\Decision")),
    optional(c"tokens", Type::INT.or(Type::FLOAT), c"1"),
];
const TOKEN_BUCKET_WAIT: &[Info] = &[
    returns(1, Type::class(c"TokenBucket\\Decision")), required(c"timeout", Type::FLOAT),
    optional(c"tokens", Type::INT.or(Type::FLOAT), c"1"),
];
const TOKEN_BUCKET_REFUND: &[Info] = &[
    returns(0, Type::VOID), optional(c"tokens", Type::INT.or(Type::FLOAT), c"1"),
];
const TOKEN_BUCKET_RESET: &[Info] = &[returns(0, Type::VOID)];
const TOKEN_BUCKET_ATTEMPT_ALL: &[Info] = &[
    returns(1, Type::class(c"TokenBucket\\Decision")), required(c"buckets", Type::ARRAY),
    optional(c"tokens", Type::INT.or(Type::FLOAT), c"1"),
];
const TOKEN_BUCKET_BOOTSTRAP: &[Info] = &[
    returns(1, Type::NONE), required(c"initialTokens", Type::NONE),
];
const TOKEN_BUCKET_TOKENS_TO_SECONDS: &[Info] = &[
    returns(1, Type::NONE), required(c"tokens", Type::NONE),
];
const TOKEN_BUCKET_SECONDS_TO_TOKENS: &[Info] = &[
    returns(1, Type::NONE), required(c"seconds", Type::NONE),
];
const TOKEN_BUCKET_STORAGE_SHARED_MEMORY_CONSTRUCT: &[Info] = &[
    returns(0, Type::NONE), optional(c"namespace", Type::STRING, c"''"),
];
const TOKEN_BUCKET_STORAGE_REDIS_CONSTRUCT: &[Info] = &[
    returns(1, Type::NONE), required(c"dsn", Type::STRING),
    optional(c"prefix", Type::STRING, c"'tokenbucket:'"),
    optional(c"timeout", Type::FLOAT, c"0.05"),
    optional(c"onFailure", Type::class(c"TokenBucket\\OnFailure"), c"TokenBucket\\OnFailure::Local"),
    optional(c"hints", Type::BOOL, c"true"), optional(c"hintMaxAge", Type::FLOAT, c"1.0"),
];
const TOKEN_BUCKET_STORAGE_REDIS_FROM_CLIENT: &[Info] = &[
    returns(1, Type::STATIC), required(c"redis", Type::OBJECT),
    optional(c"prefix", Type::STRING, c"'tokenbucket:'"),
    optional(c"timeout", Type::FLOAT, c"0.05"),
    optional(c"onFailure", Type::class(c"TokenBucket\\OnFailure"), c"TokenBucket\\OnFailure::Local"),
    optional(c"hints", Type::BOOL, c"true"), optional(c"hintMaxAge", Type::FLOAT, c"1.0"),
];
const TOKEN_BUCKET_STORAGE_MEMCACHED_CONSTRUCT: &[Info] = &[
    returns(1, Type::NONE), required(c"servers", Type::STRING.or(Type::ARRAY)),
    optional(c"prefix", Type::STRING, c"'tokenbucket:'"),
    optional(c"timeout", Type::FLOAT, c"0.05"),
    optional(c"onFailure", Type::class(c"TokenBucket\\OnFailure"), c"TokenBucket\\OnFailure::Local"),
    optional(c"hints", Type::BOOL, c"true"), optional(c"hintMaxAge", Type::FLOAT, c"1.0"),
];
const TOKEN_BUCKET_STORAGE_MEMCACHED_FROM_CLIENT: &[Info] = &[
    returns(1, Type::STATIC), required(c"client", Type::OBJECT),
    optional(c"prefix", Type::STRING, c"'tokenbucket:'"),
    optional(c"timeout", Type::FLOAT, c"0.05"),
    optional(c"onFailure", Type::class(c"TokenBucket\\OnFailure"), c"TokenBucket\\OnFailure::Local"),
    optional(c"hints", Type::BOOL, c"true"), optional(c"hintMaxAge", Type::FLOAT, c"1.0"),
];
const TOKEN_BUCKET_STORAGE_PDO_CONSTRUCT: &[Info] = &[
    returns(2, Type::NONE), required(c"db", Type::class(c"PDO")), required(c"table", Type::STRING),
    optional(c"onFailure", Type::class(c"TokenBucket\\OnFailure"), c"TokenBucket\\OnFailure::Throw"),
    optional(c"hints", Type::BOOL, c"true"), optional(c"hintMaxAge", Type::FLOAT, c"1.0"),
];
const TOKEN_BUCKET_STORAGE_PDO_PURGE: &[Info] = &[
    returns(1, Type::INT), required(c"full_microtime", Type::FLOAT),
];
const TOKEN_BUCKET_STORAGE_PDO_MY_SQL_CONSTRUCT: &[Info] = &[
    returns(2, Type::NONE), required(c"db", Type::NONE), required(c"table_name", Type::NONE),
];
const TOKEN_BUCKET_STORAGE_MEMORY_ADVANCE: &[Info] = &[
    returns(1, Type::VOID), required(c"seconds", Type::FLOAT),
];
const DECISION_HEADERS: &[Info] = &[
    returns(0, Type::ARRAY), optional(c"policy", Type::STRING, c"'default'"),
    optional(c"legacy", Type::BOOL, c"false"),
];
const MINUTE_WINDOW_CONSTRUCT: &[Info] = &[
    returns(2, Type::NONE), required(c"storage", Type::NONE), required(c"ip", Type::NONE),
    optional(c"prefix", Type::NONE, c"'rate'"),
];
const MINUTE_WINDOW_LIMIT_REQUESTS_IN_MINUTES: &[Info] = &[
    returns(2, Type::NONE), required(c"allowedRequests", Type::NONE),
    required(c"minutes", Type::NONE),
];
const CLIENT_THROTTLE_CONSTRUCT: &[Info] = &[
    returns(1, Type::NONE), required(c"storage", Type::NONE),
];
const CLIENT_THROTTLE_CHECK: &[Info] = &[
    returns(2, Type::NONE), required(c"id", Type::NONE), required(c"limit", Type::NONE),
    optional(c"window", Type::NONE, c"300"),
];
const CLIENT_THROTTLE_KEY: &[Info] = &[returns(1, Type::NONE), required(c"id", Type::NONE)];
const RATE_LIMITER_CONSTRUCT: &[Info] = &[
    returns(0, Type::NONE), optional(c"cacheKey", Type::NONE, c"''"),
    optional(c"initNum", Type::NONE, c"30"), optional(c"expire", Type::NONE, c"60"),
];
const LEAKY_BUCKET_CONSTRUCT: &[Info] = &[
    returns(1, Type::NONE), required(c"storage", Type::NONE), optional(c"period", Type::INT, c"30"),
    optional(c"limit", Type::INT, c"6"), optional(c"dryRun", Type::BOOL, c"false"),
];
const LEAKY_BUCKET_BUCKET: &[Info] = &[
    returns(3, Type::STATIC), required(c"action", Type::STRING), required(c"period", Type::INT),
    required(c"limit", Type::INT),
];
const LEAKY_BUCKET_REQUEST: &[Info] = &[
    returns(2, Type::BOOL), required(c"clientId", Type::NONE), required(c"actionId", Type::NONE),
];
const LEAKY_BUCKET_LOCKED: &[Info] = &[returns(0, Type::ARRAY), optional(c"top", Type::INT, c"10")];
const STATUS: &[Info] = &[returns(0, Type::ARRAY)];

/// The functions.
pub static FUNCTIONS: Entries = Entries(&[entry(c"TokenBucket\\status", 0, method!(info::status), STATUS), END]);

/// The classes, each behind those that it extends or implements.
pub static CLASSES: [(&Class, Declaration); 17] = [
    (&classes::TOKEN_BUCKET_STORAGE, Declaration {
        name: c"TokenBucketStorage",
        kind: Kind::Interface,
        methods: Entries(&[
            abstract_entry(c"prepare", TOKEN_BUCKET_STORAGE_PREPARE),
            abstract_entry(c"bootstrap", TOKEN_BUCKET_STORAGE_BOOTSTRAP),
            abstract_entry(c"consume", TOKEN_BUCKET_STORAGE_CONSUME),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET, Declaration {
        name: c"TokenBucket",
        flags: NOT_SERIALIZABLE,
        state: Some(Class::carry::<token_bucket::Bucket>),
        constants: &[
            Constant::Float(c"MILLISECOND", 0.001), Constant::Int(c"SECOND", 1),
            Constant::Int(c"MINUTE", 60), Constant::Int(c"HOUR", 3_600),
            Constant::Int(c"DAY", 86_400), Constant::Int(c"WEEK", 604_800),
            Constant::Float(c"MICROTIME_DELTA", 0.0001),
        ],
        properties: &[
            Property::Untyped(c"_storage", PRIVATE), Property::Untyped(c"_identifier", PROTECTED),
            Property::Untyped(c"_bucket_capacity", PROTECTED),
            Property::Untyped(c"_tokens_per_second", PROTECTED),
        ],
        methods: Entries(&[
            entry(c"compare_microtimes", PUBLIC | STATIC, method!(token_bucket::compare_microtimes),
                TOKEN_BUCKET_COMPARE_MICROTIMES),
            entry(c"__construct", PUBLIC, method!(token_bucket::construct), TOKEN_BUCKET_CONSTRUCT),
            entry(c"consume", PUBLIC, method!(token_bucket::consume), TOKEN_BUCKET_CONSUME),
            entry(c"attempt", PUBLIC, method!(token_bucket::attempt), TOKEN_BUCKET_ATTEMPT),
            entry(c"peek", PUBLIC, method!(token_bucket::peek), TOKEN_BUCKET_ATTEMPT),
            entry(c"wait", PUBLIC, method!(token_bucket::wait), TOKEN_BUCKET_WAIT),
            entry(c"refund", PUBLIC, method!(token_bucket::refund), TOKEN_BUCKET_REFUND),
            entry(c"reset", PUBLIC, method!(token_bucket::reset), TOKEN_BUCKET_RESET),
            entry(c"attemptAll", PUBLIC | STATIC, method!(token_bucket::attempt_all),
                TOKEN_BUCKET_ATTEMPT_ALL),
            entry(c"_bootstrap", PROTECTED, method!(token_bucket::bootstrap),
                TOKEN_BUCKET_BOOTSTRAP),
            entry(c"_tokens_to_seconds", PROTECTED, method!(token_bucket::tokens_to_seconds),
                TOKEN_BUCKET_TOKENS_TO_SECONDS),
            entry(c"_seconds_to_tokens", PROTECTED, method!(token_bucket::seconds_to_tokens),
                TOKEN_BUCKET_SECONDS_TO_TOKENS),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_SHARED_MEMORY, Declaration {
        name: c"TokenBucketStorageSharedMemory",
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        interfaces: &[c"TokenBucketStorage"],
        state: Some(Class::carry::<storage::shared_memory::SharedMemoryStorage>),
        properties: &[Property::ReadOnly(c"namespace", PRIVATE, Type::STRING)],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(storage::shared_memory::construct),
                TOKEN_BUCKET_STORAGE_SHARED_MEMORY_CONSTRUCT),
            entry(c"prepare", PUBLIC, method!(storage::interface::prepare::<storage::shared_memory::SharedMemoryStorage>),
                TOKEN_BUCKET_STORAGE_PREPARE),
            entry(c"bootstrap", PUBLIC, method!(storage::interface::bootstrap::<storage::shared_memory::SharedMemoryStorage>),
                TOKEN_BUCKET_STORAGE_BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(storage::interface::consume::<storage::shared_memory::SharedMemoryStorage>),
                TOKEN_BUCKET_STORAGE_CONSUME),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_REDIS, Declaration {
        name: c"TokenBucketStorageRedis",
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        interfaces: &[c"TokenBucketStorage"],
        state: Some(Class::carry::<storage::redis::RedisStorage>),
        properties: &[
            Property::ReadOnly(c"server", PRIVATE, Type::STRING),
            Property::ReadOnly(c"prefix", PRIVATE, Type::STRING),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(storage::redis::construct),
                TOKEN_BUCKET_STORAGE_REDIS_CONSTRUCT),
            entry(c"fromClient", PUBLIC | STATIC, method!(storage::redis::from_client),
                TOKEN_BUCKET_STORAGE_REDIS_FROM_CLIENT),
            entry(c"prepare", PUBLIC, method!(storage::interface::prepare::<storage::redis::RedisStorage>),
                TOKEN_BUCKET_STORAGE_PREPARE),
            entry(c"bootstrap", PUBLIC, method!(storage::interface::bootstrap::<storage::redis::RedisStorage>),
                TOKEN_BUCKET_STORAGE_BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(storage::interface::consume::<storage::redis::RedisStorage>),
                TOKEN_BUCKET_STORAGE_CONSUME),
            END,
        ]),
        hidden: &[("__construct", 1)],
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_MEMCACHED, Declaration {
        name: c"TokenBucketStorageMemcached",
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        interfaces: &[c"TokenBucketStorage"],
        state: Some(Class::carry::<storage::memcached::MemcachedStorage>),
        properties: &[
            Property::ReadOnly(c"servers", PRIVATE, Type::STRING),
            Property::ReadOnly(c"prefix", PRIVATE, Type::STRING),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(storage::memcached::construct),
                TOKEN_BUCKET_STORAGE_MEMCACHED_CONSTRUCT),
            entry(c"fromClient", PUBLIC | STATIC, method!(storage::memcached::from_client),
                TOKEN_BUCKET_STORAGE_MEMCACHED_FROM_CLIENT),
            entry(c"prepare", PUBLIC, method!(storage::interface::prepare::<storage::memcached::MemcachedStorage>),
                TOKEN_BUCKET_STORAGE_PREPARE),
            entry(c"bootstrap", PUBLIC, method!(storage::interface::bootstrap::<storage::memcached::MemcachedStorage>),
                TOKEN_BUCKET_STORAGE_BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(storage::interface::consume::<storage::memcached::MemcachedStorage>),
                TOKEN_BUCKET_STORAGE_CONSUME),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_PDO, Declaration {
        name: c"TokenBucketStoragePDO",
        flags: NOT_SERIALIZABLE,
        interfaces: &[c"TokenBucketStorage"],
        state: Some(Class::carry::<storage::pdo::PdoStorage>),
        properties: &[
            Property::Untyped(c"db", PRIVATE), Property::Untyped(c"table", PRIVATE),
            Property::Untyped(c"take", PRIVATE), Property::Untyped(c"step", PRIVATE),
            Property::Untyped(c"look", PRIVATE), Property::Untyped(c"refund", PRIVATE),
            Property::Untyped(c"reset", PRIVATE), Property::Untyped(c"start", PRIVATE),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(storage::pdo::construct),
                TOKEN_BUCKET_STORAGE_PDO_CONSTRUCT),
            entry(c"prepare", PUBLIC, method!(storage::interface::prepare::<storage::pdo::PdoStorage>),
                TOKEN_BUCKET_STORAGE_PREPARE),
            entry(c"bootstrap", PUBLIC, method!(storage::interface::bootstrap::<storage::pdo::PdoStorage>),
                TOKEN_BUCKET_STORAGE_BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(storage::interface::consume::<storage::pdo::PdoStorage>),
                TOKEN_BUCKET_STORAGE_CONSUME),
            entry(c"purge", PUBLIC, method!(storage::pdo::purge), TOKEN_BUCKET_STORAGE_PDO_PURGE),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_PDO_MY_SQL, Declaration {
        name: c"TokenBucketStoragePDOMySQL",
        kind: Kind::Extends(c"TokenBucketStoragePDO"),
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(storage::pdo::construct_mysql),
                TOKEN_BUCKET_STORAGE_PDO_MY_SQL_CONSTRUCT),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::TOKEN_BUCKET_STORAGE_MEMORY, Declaration {
        name: c"TokenBucketStorageMemory",
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        interfaces: &[c"TokenBucketStorage"],
        state: Some(Class::carry::<storage::memory::MemoryStorage>),
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(storage::memory::construct),
                TOKEN_BUCKET_STORAGE_PREPARE),
            entry(c"prepare", PUBLIC, method!(storage::interface::prepare::<storage::memory::MemoryStorage>),
                TOKEN_BUCKET_STORAGE_PREPARE),
            entry(c"bootstrap", PUBLIC, method!(storage::interface::bootstrap::<storage::memory::MemoryStorage>),
                TOKEN_BUCKET_STORAGE_BOOTSTRAP),
            entry(c"consume", PUBLIC, method!(storage::interface::consume::<storage::memory::MemoryStorage>),
                TOKEN_BUCKET_STORAGE_CONSUME),
            entry(c"advance", PUBLIC, method!(storage::memory::advance),
                TOKEN_BUCKET_STORAGE_MEMORY_ADVANCE),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::EXCEPTION, Declaration {
        name: c"TokenBucket\\Exception",
        kind: Kind::Interface,
        interfaces: &[c"Throwable"],
        ..Declaration::EMPTY
    }),
    (&classes::ON_FAILURE, Declaration {
        name: c"TokenBucket\\OnFailure",
        kind: Kind::Enum(&[c"Local", c"Allow", c"Deny", c"Throw"]),
        flags: FINAL,
        ..Declaration::EMPTY
    }),
    (&classes::STORAGE_EXCEPTION, Declaration {
        name: c"TokenBucket\\StorageException",
        kind: Kind::Extends(c"RuntimeException"),
        interfaces: &[c"TokenBucket\\Exception"],
        ..Declaration::EMPTY
    }),
    (&classes::DECISION, Declaration {
        name: c"TokenBucket\\Decision",
        flags: FINAL | NO_DYNAMIC_PROPERTIES | NOT_SERIALIZABLE,
        state: Some(Class::carry::<decision::Answer>),
        properties: &[
            Property::ReadOnly(c"allowed", PUBLIC, Type::BOOL),
            Property::ReadOnly(c"remaining", PUBLIC, Type::FLOAT),
            Property::ReadOnly(c"capacity", PUBLIC, Type::FLOAT),
            Property::ReadOnly(c"retryAfter", PUBLIC, Type::FLOAT),
            Property::ReadOnly(c"resetAfter", PUBLIC, Type::FLOAT),
            Property::ReadOnly(c"reason", PUBLIC, Type::STRING),
        ],
        methods: Entries(&[
            entry(c"__construct", PRIVATE, method!(decision::construct),
                TOKEN_BUCKET_STORAGE_PREPARE),
            entry(c"headers", PUBLIC, method!(decision::headers), DECISION_HEADERS),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::RATE_EXCEEDED_EXCEPTION, Declaration {
        name: c"TokenBucket\\Compat\\RateExceededException",
        kind: Kind::Extends(c"Exception"),
        interfaces: &[c"TokenBucket\\Exception"],
        ..Declaration::EMPTY
    }),
    (&classes::MINUTE_WINDOW, Declaration {
        name: c"TokenBucket\\Compat\\MinuteWindow",
        flags: NOT_SERIALIZABLE,
        state: Some(Class::carry::<compat::minute_window::Window>),
        properties: &[
            Property::Untyped(c"storage", PRIVATE), Property::Untyped(c"ip", PRIVATE),
            Property::Untyped(c"prefix", PRIVATE),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(compat::minute_window::construct),
                MINUTE_WINDOW_CONSTRUCT),
            entry(c"limitRequestsInMinutes", PUBLIC, method!(compat::minute_window::limit_requests_in_minutes),
                MINUTE_WINDOW_LIMIT_REQUESTS_IN_MINUTES),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::CLIENT_THROTTLE, Declaration {
        name: c"TokenBucket\\Compat\\ClientThrottle",
        flags: NOT_SERIALIZABLE,
        state: Some(Class::carry::<compat::client_throttle::Limiter>),
        properties: &[Property::Untyped(c"storage", PRIVATE)],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(compat::client_throttle::construct),
                CLIENT_THROTTLE_CONSTRUCT),
            entry(c"check", PUBLIC, method!(compat::client_throttle::check), CLIENT_THROTTLE_CHECK),
            entry(c"key", PROTECTED, method!(compat::client_throttle::key), CLIENT_THROTTLE_KEY),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::RATE_LIMITER, Declaration {
        name: c"TokenBucket\\Compat\\RateLimiter",
        flags: NOT_SERIALIZABLE,
        state: Some(Class::carry::<compat::rate_limiter::Limiter>),
        properties: &[
            Property::Untyped(c"redis", PUBLIC), Property::Untyped(c"cacheKey", PUBLIC),
            Property::UntypedInt(c"initNum", PUBLIC, 30),
            Property::UntypedInt(c"expire", PUBLIC, 60), Property::Untyped(c"_storage", PRIVATE),
            Property::Untyped(c"_client", PRIVATE),
        ],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(compat::rate_limiter::construct),
                RATE_LIMITER_CONSTRUCT),
            entry(c"handler", PUBLIC, method!(compat::rate_limiter::handler),
                TOKEN_BUCKET_STORAGE_PREPARE),
            END,
        ]),
        ..Declaration::EMPTY
    }),
    (&classes::LEAKY_BUCKET, Declaration {
        name: c"TokenBucket\\Compat\\LeakyBucket",
        flags: NOT_SERIALIZABLE,
        state: Some(Class::carry::<compat::leaky_bucket::Bucket>),
        properties: &[Property::Untyped(c"_storages", PRIVATE)],
        methods: Entries(&[
            entry(c"__construct", PUBLIC, method!(compat::leaky_bucket::construct),
                LEAKY_BUCKET_CONSTRUCT),
            entry(c"bucket", PUBLIC, method!(compat::leaky_bucket::bucket), LEAKY_BUCKET_BUCKET),
            entry(c"request", PUBLIC, method!(compat::leaky_bucket::request), LEAKY_BUCKET_REQUEST),
            entry(c"cleanup", PUBLIC, method!(compat::leaky_bucket::cleanup), TOKEN_BUCKET_RESET),
            entry(c"locked", PUBLIC, method!(compat::leaky_bucket::locked), LEAKY_BUCKET_LOCKED),
            END,
        ]),
        ..Declaration::EMPTY
    }),
];
