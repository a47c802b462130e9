//! The classes that the extension declares, by name.
//!
//! Generated from stubs/tokenbucket.stub.php by `php -n scripts/declare.php`. Do not edit.

use zend::Class;

pub static TOKEN_BUCKET_STORAGE: Class = Class::new(c"TokenBucketStorage");
pub static TOKEN_BUCKET: Class = Class::new(c"TokenBucket");
pub static TOKEN_BUCKET_STORAGE_SHARED_MEMORY: Class =
    Class::new(c"TokenBucketStorageSharedMemory");
pub static TOKEN_BUCKET_STORAGE_REDIS: Class = Class::new(c"TokenBucketStorageRedis");
pub static TOKEN_BUCKET_STORAGE_MEMCACHED: Class = Class::new(c"TokenBucketStorageMemcached");
pub static TOKEN_BUCKET_STORAGE_PDO: Class = Class::new(c"TokenBucketStoragePDO");
pub static TOKEN_BUCKET_STORAGE_PDO_MY_SQL: Class = Class::new(c"TokenBucketStoragePDOMySQL");
pub static TOKEN_BUCKET_STORAGE_MEMORY: Class = Class::new(c"TokenBucketStorageMemory");
pub static EXCEPTION: Class = Class::new(c"TokenBucket\\Exception");
pub static PERIOD: Class = Class::new(c"TokenBucket\\Period");
pub static QUOTA: Class = Class::new(c"TokenBucket\\Quota");
pub static ON_FAILURE: Class = Class::new(c"TokenBucket\\OnFailure");
pub static STORAGE_EXCEPTION: Class = Class::new(c"TokenBucket\\StorageException");
pub static RESERVATION: Class = Class::new(c"TokenBucket\\Reservation");
pub static LOCKOUT: Class = Class::new(c"TokenBucket\\Lockout");
pub static ACCESS_DENIED_EXCEPTION: Class = Class::new(c"TokenBucket\\AccessDeniedException");
pub static GUARDED_CLIENT: Class = Class::new(c"TokenBucket\\GuardedClient");
pub static LOG_REPLAY: Class = Class::new(c"TokenBucket\\LogReplay");
pub static CONCURRENCY_LIMIT: Class = Class::new(c"TokenBucket\\ConcurrencyLimit");
pub static PERMIT: Class = Class::new(c"TokenBucket\\Permit");
pub static DECISION: Class = Class::new(c"TokenBucket\\Decision");
pub static RATE_EXCEEDED_EXCEPTION: Class =
    Class::new(c"TokenBucket\\Compat\\RateExceededException");
pub static MINUTE_WINDOW: Class = Class::new(c"TokenBucket\\Compat\\MinuteWindow");
pub static CLIENT_THROTTLE: Class = Class::new(c"TokenBucket\\Compat\\ClientThrottle");
pub static RATE_LIMITER: Class = Class::new(c"TokenBucket\\Compat\\RateLimiter");
pub static LEAKY_BUCKET: Class = Class::new(c"TokenBucket\\Compat\\LeakyBucket");
