//! The classes that the extension declares, by name.
//!
//! Generated from stubs/tokenbucket.stub.php by `php -n scripts/declare.php`. Do not edit.

use crate::zend::Class;

pub static TOKEN_BUCKET_STORAGE: Class = Class::new();
pub static TOKEN_BUCKET: Class = Class::new();
pub static TOKEN_BUCKET_STORAGE_SHARED_MEMORY: Class = Class::new();
pub static TOKEN_BUCKET_STORAGE_REDIS: Class = Class::new();
pub static TOKEN_BUCKET_STORAGE_MEMCACHED: Class = Class::new();
pub static TOKEN_BUCKET_STORAGE_PDO: Class = Class::new();
pub static TOKEN_BUCKET_STORAGE_PDO_MY_SQL: Class = Class::new();
pub static TOKEN_BUCKET_STORAGE_MEMORY: Class = Class::new();
pub static EXCEPTION: Class = Class::new();
pub static ON_FAILURE: Class = Class::new();
pub static STORAGE_EXCEPTION: Class = Class::new();
pub static DECISION: Class = Class::new();
pub static RATE_EXCEEDED_EXCEPTION: Class = Class::new();
pub static MINUTE_WINDOW: Class = Class::new();
pub static CLIENT_THROTTLE: Class = Class::new();
pub static RATE_LIMITER: Class = Class::new();
pub static LEAKY_BUCKET: Class = Class::new();
