//! `TokenBucketStorageRedis`: buckets that a fleet shares, on Redis or what speaks as it does.

use super::remote::{self, Kind, Storage};
use super::{INTERFACE, Native, interface, redis_client};
use crate::zend::class::{Declaration, Property};
use crate::zend::declare::{
    END, Entry, Info, Table, Type, entry, handlers, optional, required, returns,
};
use crate::zend::{Call, Class, Object, Thrown, Zval, throw};
use ext_php_rs::ffi::{
    ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PRIVATE, ZEND_ACC_PUBLIC,
    ZEND_ACC_STATIC,
};
use tokenbucket_core::remote::redis::Redis;
use tokenbucket_core::remote::redis::dsn::Dsn;

static CLASS: Class = Class::new();

impl Kind for Redis {
    fn class() -> &'static Class {
        &CLASS
    }

    fn native(object: &Object<Storage<Self>>) -> Native<'_> {
        Native::Redis(object)
    }
}

static CONSTRUCT: Table<[Info; 7]> = Table([
    returns(1, Type::NONE),
    required(c"dsn", Type::STRING),
    optional(c"prefix", Type::STRING, c"'tokenbucket:'"),
    optional(c"timeout", Type::FLOAT, c"0.05"),
    optional(
        c"onFailure",
        Type::class(c"TokenBucket\\OnFailure"),
        c"TokenBucket\\OnFailure::Local",
    ),
    optional(c"hints", Type::BOOL, c"true"),
    optional(c"hintMaxAge", Type::FLOAT, c"1.0"),
]);

static FROM_CLIENT: Table<[Info; 7]> = Table([
    returns(1, Type::STATIC),
    required(c"redis", Type::OBJECT),
    optional(c"prefix", Type::STRING, c"'tokenbucket:'"),
    optional(c"timeout", Type::FLOAT, c"0.05"),
    optional(
        c"onFailure",
        Type::class(c"TokenBucket\\OnFailure"),
        c"TokenBucket\\OnFailure::Local",
    ),
    optional(c"hints", Type::BOOL, c"true"),
    optional(c"hintMaxAge", Type::FLOAT, c"1.0"),
]);

handlers! {
    construct_handler => construct;
    from_client_handler => redis_client::from_client;
}

static METHODS: Table<[Entry; 6]> = {
    let [prepare, bootstrap, consume] = interface::methods::<Storage<Redis>>();
    Table([
        entry(
            c"__construct",
            construct_handler,
            &CONSTRUCT.0,
            ZEND_ACC_PUBLIC,
        ),
        entry(
            c"fromClient",
            from_client_handler,
            &FROM_CLIENT.0,
            ZEND_ACC_PUBLIC | ZEND_ACC_STATIC,
        ),
        prepare,
        bootstrap,
        consume,
        END,
    ])
};

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
    CLASS.register::<Storage<Redis>, _>(&declaration, &[&INTERFACE]);
    // It may hold a password.
    CLASS.hide_argument("__construct", 1);
}

fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(1, 6)?;
    let dsn = std::str::from_utf8(call.string(1)?)
        .map_err(|_| throw::argument_value(1, "must be valid UTF-8"))?;
    let dsn =
        Dsn::parse(dsn).map_err(|error| throw::argument_value(1, &format!("must {error}")))?;
    let prefix = prefix(call)?;
    let settings = remote::settings(call)?;
    let this = call.this::<Storage<Redis>>();
    if this.is_made() {
        return Err(throw::error(
            "TokenBucketStorageRedis is constructed already",
        ));
    }
    remote::show(this, &dsn.public_name(), prefix);
    this.make(Redis::new(dsn, prefix), settings);
    Ok(())
}

/// What stands before identifiers where nobody says otherwise.
pub const DEFAULT_PREFIX: &[u8] = b"tokenbucket:";

/// Argument 2, `$prefix`.
///
/// # Errors
/// `TypeError`.
pub fn prefix<'a>(call: &mut Call<'a>) -> Result<&'a [u8], Thrown> {
    if call.count() >= 2 {
        call.string(2)
    } else {
        Ok(DEFAULT_PREFIX)
    }
}
