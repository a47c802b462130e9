//! `TokenBucketStorageMemcached`: buckets that a fleet shares, on memcached.

use super::remote::{self, Kind, Storage};
use super::{INTERFACE, Native, interface, memcached_client};
use crate::zend::class::{Declaration, Property};
use crate::zend::declare::{
    END, Entry, Info, Table, Type, entry, handlers, optional, required, returns,
};
use crate::zend::object::instantiate;
use crate::zend::{Call, Class, Object, State, Thrown, Zval, throw, value};
use ext_php_rs::ffi::{
    IS_STRING, ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PRIVATE, ZEND_ACC_PUBLIC,
    ZEND_ACC_STATIC,
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

static FROM_CLIENT: Table<[Info; 7]> = Table([
    returns(1, Type::STATIC),
    required(c"client", Type::OBJECT),
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
    from_client_handler => from_client;
}

static METHODS: Table<[Entry; 6]> = {
    let [prepare, bootstrap, consume] = interface::methods::<Storage<Memcached>>();
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
    let prefix = prefix(call)?;
    let settings = remote::settings(call)?;
    let this = call.this::<Storage<Memcached>>();
    if this.is_made() {
        return Err(throw::error(
            "TokenBucketStorageMemcached is constructed already",
        ));
    }
    show(this, &servers, prefix);
    this.make(Memcached::new(&servers, prefix), settings);
    Ok(())
}

/// `fromClient(object $client, …): static`
fn from_client(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    call.arity(1, 6)?;
    let prefix = prefix(call)?;
    let settings = remote::settings(call)?;
    let client = memcached_client::read(call)?;
    let made = instantiate(<Storage<Memcached> as State>::born()).ok_or(Thrown)?;
    let this = value::object(&made).and_then(Object::<Storage<Memcached>>::of_exact);
    let this = this.ok_or(Thrown)?;
    show(
        this,
        &client.servers,
        &[client.prefix.as_slice(), prefix].concat(),
    );
    let memcached = Memcached::new(&client.servers, prefix)
        .placed(&client.servers, client.distribution)
        .among(&client.prefix, client.places_prefix);
    this.make(memcached, settings);
    *result = made;
    Ok(())
}

fn show(this: &Object<Storage<Memcached>>, servers: &[Server], prefix: &[u8]) {
    let names: Vec<_> = servers.iter().map(|s| s.endpoint.to_string()).collect();
    remote::show(this, &names.join(","), prefix);
}

/// `string $prefix`
fn prefix<'a>(call: &mut Call<'a>) -> Result<&'a [u8], Thrown> {
    if call.count() >= 2 {
        call.string(2)
    } else {
        Ok(b"tokenbucket:")
    }
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
