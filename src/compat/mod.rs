//! Replacements for limiters of existing applications, with the same API. On the original's store,
//! each replacement also keeps the same records as the original.

pub mod client_throttle;
pub mod leaky_bucket;
pub mod minute_window;
pub mod rate_limiter;

use crate::exceptions;
use crate::storage::{self, Storage};
use crate::tokens;
use compat::Wait;
use gcra::seconds;
use std::cell::Cell;
use stores::remote::redis::Redis;
use zend::{Call, State, Thrown, Zval, throw, value};

/// Returns the result of `retryAfter(): float`: the seconds until the object's last request would
/// be allowed. 0 if it was allowed, and INF if it never is.
fn retry_after(wait: &Cell<Wait>) -> Zval {
    let ticks = wait.get().ticks();
    value::of_float(ticks.map_or(f64::INFINITY, seconds::from_ticks))
}

/// Throws a `TypeError` for a value that could not be converted. Throws nothing if the conversion
/// has thrown an exception.
fn wrong_type(message: &str) -> Thrown {
    if throw::is_pending() {
        return Thrown;
    }
    throw::type_error(message)
}

/// Returns argument `number` as a double. The argument must be finite and not negative.
fn amount(call: &mut Call<'_>, number: u32) -> Result<f64, Thrown> {
    let amount = call.untyped_number(number)?;
    let tokens = tokens::amount(amount);
    tokens.map_err(|error| exceptions::bad_amount(number, error))?;
    Ok(amount.to_float())
}

/// Returns the storage in argument 1, or a new storage made from the client in argument 1.
fn storage(call: &Call<'_>) -> Result<Zval, Thrown> {
    let wrong = || {
        throw::argument_type(
            1,
            "must be one of the extension's own storages, or a client of type Memcached, Memcache or Redis",
        )
    };
    // This copy keeps the argument alive, because a client's method may change it.
    let held = call.arg(1).shallow_clone();
    let object = value::object(&held).ok_or_else(wrong)?;
    if storage::of(object).is_some() {
        return Ok(held);
    }
    let made = storage::of_client(object, &|why| throw::argument_value(1, why))?;
    made.ok_or_else(wrong)
}

/// Checks that a storage is on one server, because the limiter reads several keys at once. Throws
/// `ValueError` for a storage on a Redis Cluster.
fn must_be_one_server(storage: &Zval) -> Result<(), Thrown> {
    let native = value::object(storage).and_then(storage::of);
    if let Some(redis) = native.and_then(storage::remote::<Redis>)
        && redis.store()?.transport().is_cluster()
    {
        return Err(throw::argument_value(1, "must not be on a Redis Cluster"));
    }
    Ok(())
}

/// Returns the storage in the value of a property. Throws `Error` if no constructor has set the
/// property.
fn native<T: State>(storage: &Zval) -> Result<&dyn Storage, Thrown> {
    value::object(storage).and_then(storage::of).ok_or_else(|| {
        throw::error(&format!(
            "The {} object has not been correctly initialized by calling parent::__construct() in \
             its constructor",
            T::class().name()
        ))
    })
}
