//! `TokenBucketStorageMemcached`: buckets that a fleet shares, on memcached.

use super::remote::{self, Kind, Storage};
use super::{INTERFACE, Native, interface};
use crate::zend::class::{Declaration, Property};
use crate::zend::declare::{
    END, Entry, Info, Table, Type, entry, handlers, optional, required, returns,
};
use crate::zend::{Call, Class, Object, Thrown, Zval, throw, value};
use ext_php_rs::ffi::{
    IS_STRING, ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PRIVATE, ZEND_ACC_PUBLIC,
};
use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::memcached::servers::{Server, parse_servers};

static CLASS: Class = Class::new();

impl Kind for Memcached {
    fn class() -> &'static Class {
        &CLASS
    }

    fn native(object: &Object<Storage<Self>>) -> Native<'_> {
        Native::Memcached(object)
    }
}

static CONSTRUCT: Table<[Info; 7]> = Table([
    returns(1, Type::NONE),
    required(c"servers", Type::STRING_OR_ARRAY),
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
    prepare_handler => interface::prepare;
    bootstrap_handler => interface::bootstrap::<Storage<Memcached>>;
    consume_handler => interface::consume::<Storage<Memcached>>;
}

static METHODS: Table<[Entry; 5]> = Table([
    entry(
        c"__construct",
        construct_handler,
        &CONSTRUCT.0,
        ZEND_ACC_PUBLIC,
    ),
    entry(
        c"prepare",
        prepare_handler,
        &interface::PREPARE.0,
        ZEND_ACC_PUBLIC,
    ),
    entry(
        c"bootstrap",
        bootstrap_handler,
        &interface::BOOTSTRAP.0,
        ZEND_ACC_PUBLIC,
    ),
    entry(
        c"consume",
        consume_handler,
        &interface::CONSUME.0,
        ZEND_ACC_PUBLIC,
    ),
    END,
]);

pub fn register() {
    let declaration = Declaration {
        name: c"TokenBucketStorageMemcached",
        flags: ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES,
        methods: &METHODS,
        constants: &[],
        properties: &[
            Property::ReadOnly(c"servers", ZEND_ACC_PRIVATE, Type::STRING),
            Property::ReadOnly(c"prefix", ZEND_ACC_PRIVATE, Type::STRING),
        ],
        cloneable: false,
    };
    CLASS.register::<Storage<Memcached>, _>(&declaration, &[&INTERFACE]);
}

fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(1, 6)?;
    let servers = servers(call)?;
    let prefix = if call.count() >= 2 {
        call.string(2)?
    } else {
        b"tokenbucket:"
    };
    let settings = remote::settings(call)?;
    let this = call.this::<Storage<Memcached>>();
    if this.is_made() {
        return Err(throw::error(
            "TokenBucketStorageMemcached is constructed already",
        ));
    }
    let names: Vec<_> = servers.iter().map(|s| s.endpoint.to_string()).collect();
    remote::show(this, &names.join(","), prefix);
    this.make(Memcached::new(&servers, prefix), settings);
    Ok(())
}

/// `string|array $servers`
fn servers(call: &mut Call<'_>) -> Result<Vec<Server>, Thrown> {
    let list: Vec<&[u8]> = match call.string_or_array(1)? {
        Ok(text) => vec![text],
        Err(array) => {
            let texts = array.values().map(|zval| {
                let zval = value::dereference(zval);
                (value::kind(zval) == IS_STRING).then(|| value::bytes(zval))
            });
            texts
                .collect::<Option<_>>()
                .ok_or_else(|| throw::argument_type(1, "must contain only strings"))?
        }
    };
    parse_servers(list).map_err(|error| throw::argument_value(1, &error.to_string()))
}
