//! `TokenBucketStorageRedis`: buckets that a fleet shares, on Redis or what speaks as it does.

use super::remote::{RemoteStorage, StorageClass};
use super::{INTERFACE, arguments, redis_client};
use crate::zend::class::{Declaration, Property};
use crate::zend::declare::{Entry, Info, Table, Type, handlers, required};
use crate::zend::{Call, Class, Thrown, Zval, throw};
use ext_php_rs::ffi::{ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PRIVATE};
use tokenbucket_core::remote::redis::Redis;
use tokenbucket_core::remote::redis::dsn::Dsn;

static CLASS: Class = Class::new();

impl StorageClass for Redis {
    fn class() -> &'static Class {
        &CLASS
    }
}

/// The state of an object of the class.
pub type RedisStorage = RemoteStorage<Redis>;

static CONSTRUCT: Table<[Info; 7]> =
    arguments::parameters(Type::NONE, required(c"dsn", Type::STRING));
static FROM_CLIENT: Table<[Info; 7]> =
    arguments::parameters(Type::STATIC, required(c"redis", Type::OBJECT));

handlers! {
    construct_handler => construct;
    from_client_handler => redis_client::from_client;
}

static METHODS: Table<[Entry; 6]> = arguments::methods::<Redis>(
    (construct_handler, &CONSTRUCT),
    (from_client_handler, &FROM_CLIENT),
);

pub fn register() {
    let declaration = Declaration {
        name: c"TokenBucketStorageRedis",
        flags: ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES,
        methods: &METHODS,
        constants: &[],
        properties: &[
            Property::ReadOnly(c"server", ZEND_ACC_PRIVATE, Type::STRING),
            Property::ReadOnly(c"prefix", ZEND_ACC_PRIVATE, Type::STRING),
        ],
        cloneable: false,
    };
    CLASS.register::<RedisStorage, _>(&declaration, &[&INTERFACE]);
    // It may hold a password.
    CLASS.hide_argument("__construct", 1);
}

fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(1, 6)?;
    let dsn = std::str::from_utf8(call.string(1)?)
        .map_err(|_| throw::argument_value(1, "must be valid UTF-8"))?;
    let dsn =
        Dsn::parse(dsn).map_err(|error| throw::argument_value(1, &format!("must {error}")))?;
    let prefix = arguments::prefix(call)?;
    let settings = arguments::settings(call)?;
    let server = dsn.public_name();
    let redis = Redis::new(dsn, prefix);
    RedisStorage::construct(call.this(), redis, settings, &server, prefix)
}
