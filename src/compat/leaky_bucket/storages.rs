//! Which storage a set lives on: set number i on storage i modulo their number, in the order given.

use super::{Bucket, STORAGES, not_constructed};
use crate::storage::{self, Storage};
use crate::zend::{Object, Thrown, Zval, throw, value};
use ext_php_rs::ffi::IS_ARRAY;
use tokenbucket_core::remote::redis::Redis;

/// The storages of one bucket, held while they are in use.
#[derive(Debug)]
pub struct Storages(Vec<Zval>);

impl Storages {
    /// Those in the property.
    ///
    /// # Errors
    /// `Error` when no constructor has set any.
    pub fn of(this: &Object<Bucket>) -> Result<Self, Thrown> {
        let storages = this.copy_property(STORAGES);
        let elements = value::elements(&storages).into_iter();
        let storages: Vec<_> = elements.map(Zval::shallow_clone).collect();
        if storages.is_empty() {
            return Err(not_constructed());
        }
        Ok(Self(storages))
    }

    /// How many there are; at least one.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The storage that keeps a set.
    ///
    /// # Errors
    /// As [`Storages::at`].
    pub fn of_set(&self, set: usize) -> Result<&dyn Storage, Thrown> {
        self.at(set % self.0.len())
    }

    /// The storage at a place.
    ///
    /// # Errors
    /// `Error` for what the constructor did not put there.
    pub fn at(&self, place: usize) -> Result<&dyn Storage, Thrown> {
        let object = self.0.get(place).and_then(value::object);
        object.and_then(storage::of).ok_or_else(not_constructed)
    }
}

/// The list of storages that the constructor's first argument is.
///
/// # Errors
/// `TypeError` or `ValueError`.
pub fn list(argument: &Zval) -> Result<Zval, Thrown> {
    let storages = if value::kind(argument) == IS_ARRAY {
        let elements = value::elements(argument).into_iter();
        // Held: a client that is asked may change a list that is a reference.
        let elements: Vec<_> = elements.map(Zval::shallow_clone).collect();
        if elements.is_empty() {
            return Err(throw::argument_value(1, "must not be empty"));
        }
        let storages = elements.iter().map(|element| one(element, true));
        storages.collect::<Result<Vec<_>, _>>()?
    } else {
        vec![one(argument, false)?]
    };
    value::of_list(storages).ok_or(Thrown)
}

/// A storage of ours, or the storage of a client.
fn one(element: &Zval, among_others: bool) -> Result<Zval, Thrown> {
    let Some(object) = value::object(element) else {
        return Err(wrong());
    };
    match storage::of(object) {
        Some(native) if !among_others || storage::remote::<Redis>(native).is_some() => {
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
