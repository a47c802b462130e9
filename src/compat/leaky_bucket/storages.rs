//! The list of storages. Set number i is on the storage whose index is i modulo the number of
//! storages.

use super::super::must_be_one_server;
use crate::storage::{self, Servers};
use ext_php_rs::ffi::IS_ARRAY;
use zend::{Thrown, Zval, throw, value};

/// Returns the list of storages in the constructor's first argument. Makes storages from clients.
pub fn list(argument: &Zval) -> Result<Zval, Thrown> {
    let is_list = value::kind(argument) == IS_ARRAY;
    let elements = if is_list {
        value::elements(argument)
    } else {
        vec![argument]
    };
    if elements.is_empty() {
        return Err(throw::argument_value(1, "must not be empty"));
    }
    // These copies keep the elements alive. If the list is a PHP reference, a client's method may
    // change it.
    let elements: Vec<_> = elements.into_iter().map(Zval::shallow_clone).collect();
    let storages = elements.iter().map(|element| one(element, is_list));
    value::of_list(storages.collect::<Result<Vec<_>, _>>()?).ok_or(Thrown)
}

/// Returns a storage of the extension, or a storage made from a client. With `among_others`, only
/// storages on Redis are valid.
fn one(element: &Zval, among_others: bool) -> Result<Zval, Thrown> {
    let object = value::object(element).ok_or_else(wrong)?;
    match storage::of(object) {
        Some(native) if !among_others || matches!(native.servers()?, Some(Servers::Redis(_))) => {
            must_be_one_server(element)?;
            Ok(element.shallow_clone())
        }
        None if storage::is_client(object) => {
            storage::storage_of(object, &|why| throw::argument_value(1, why))
        }
        _ => Err(wrong()),
    }
}

fn wrong() -> Thrown {
    throw::argument_type(
        1,
        "must be one of the extension's own storages, a client of type Redis, or a list of TokenBucketStorageRedis or such clients",
    )
}
