//! Limiters that applications run today, class for class: their API, and on their own stores their records.

pub mod client_throttle;
pub mod leaky_bucket;
pub mod minute_window;
pub mod rate_limiter;

use crate::declared::TOKEN_BUCKET_STORAGE;
use crate::storage::{self, Storage};
use crate::zend::{Call, State, Thrown, Zval, throw, value};

/// Argument 1, which must be a storage of ours.
///
/// # Errors
/// `TypeError`.
fn storage(call: &Call<'_>) -> Result<Zval, Thrown> {
    let storage = call.object_of(1, &TOKEN_BUCKET_STORAGE)?;
    if value::object(&storage).and_then(storage::of).is_some() {
        return Ok(storage);
    }
    Err(throw::argument_type(
        1,
        "must be one of the extension's own storages",
    ))
}

/// The storage of ours that a property's value is.
///
/// # Errors
/// `Error` when no constructor has set it.
fn native<T: State>(storage: &Zval) -> Result<&dyn Storage, Thrown> {
    value::object(storage).and_then(storage::of).ok_or_else(|| {
        throw::error(&format!(
            "The {} object has not been correctly initialized by calling parent::__construct() in \
             its constructor",
            T::class().name().to_string_lossy()
        ))
    })
}
