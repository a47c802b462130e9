//! Limiters that applications run today, class for class: their API, and on their own stores their records.

pub mod client_throttle;
pub mod leaky_bucket;
pub mod minute_window;
pub mod rate_limiter;

use crate::declared::TOKEN_BUCKET_STORAGE;
use crate::storage::{Backend, Native};
use crate::zend::{Call, State, Thrown, Zval, throw, value};

/// Argument 1, which must be a storage of ours.
///
/// # Errors
/// `TypeError`.
fn storage<'a>(call: &mut Call<'a>) -> Result<&'a Zval, Thrown> {
    let storage = call.object_of(1, &TOKEN_BUCKET_STORAGE)?;
    match value::object(storage).map(Backend::of) {
        Some(Backend::Native(_)) => Ok(storage),
        _ => Err(throw::argument_type(
            1,
            "must be one of the extension's own storages",
        )),
    }
}

/// The storage of ours that a property's value is.
///
/// # Errors
/// `Error` when no constructor has set it.
fn native<T: State>(storage: &Zval) -> Result<Native<'_>, Thrown> {
    if let Some(Backend::Native(native)) = value::object(storage).map(Backend::of) {
        return Ok(native);
    }
    Err(throw::error(&format!(
        "The {} object has not been correctly initialized by calling parent::__construct() in its \
         constructor",
        T::class().name().to_string_lossy()
    )))
}
