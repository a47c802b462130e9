//! `TokenBucketStorageMemcached`: buckets that a fleet shares, on memcached.

use super::remote::{RemoteStorage, StorageClass};
use super::{INTERFACE, arguments, memcached_client};
use crate::zend::class::{Declaration, Property};
use crate::zend::declare::{Entry, Info, Table, Type, handlers, required};
use crate::zend::{Call, Class, Thrown, Zval, throw, value};
use ext_php_rs::ffi::{
    IS_STRING, ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PRIVATE,
};
use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::memcached::servers::{Server, parse_servers};

static CLASS: Class = Class::new();

impl StorageClass for Memcached {
    fn class() -> &'static Class {
        &CLASS
    }
}

/// The state of an object of the class.
pub type MemcachedStorage = RemoteStorage<Memcached>;

static CONSTRUCT: Table<[Info; 7]> =
    arguments::parameters(Type::NONE, required(c"servers", Type::STRING_OR_ARRAY));
static FROM_CLIENT: Table<[Info; 7]> =
    arguments::parameters(Type::STATIC, required(c"client", Type::OBJECT));

handlers! {
    construct_handler => construct;
    from_client_handler => memcached_client::from_client;
}

static METHODS: Table<[Entry; 6]> = arguments::methods::<Memcached>(
    (construct_handler, &CONSTRUCT),
    (from_client_handler, &FROM_CLIENT),
);

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
    CLASS.register::<MemcachedStorage, _>(&declaration, &[&INTERFACE]);
}

fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(1, 6)?;
    let servers = servers(call)?;
    let prefix = arguments::prefix(call)?;
    let settings = arguments::settings(call)?;
    let memcached = Memcached::new(&servers, prefix);
    MemcachedStorage::construct(call.this(), memcached, settings, &shown(&servers), prefix)
}

/// Servers as dumps show them.
pub fn shown(servers: &[Server]) -> String {
    let names: Vec<_> = servers.iter().map(|s| s.endpoint.to_string()).collect();
    names.join(",")
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
