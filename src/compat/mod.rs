//! Replacements for limiters of existing applications, with the same API. On the original's store,
//! each replacement also keeps the same records as the original.

pub mod client_throttle;
pub mod leaky_bucket;
pub mod minute_window;
pub mod rate_limiter;

use crate::storage::{self, Servers, Storage};
use crate::{attached, exceptions, tokens};
use compat::Wait;
use gcra::{Denial, Outcome, Step, Timestamp, seconds};
use segment::By;
use std::cell::Cell;
use stores::remote::{Cause, OnFailure, Remote, Transport, Visit};
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
    tokens::of_argument(amount, number)?;
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
/// `ValueError` for a storage on a Redis Cluster or a ring.
fn must_be_one_server(storage: &Zval) -> Result<(), Thrown> {
    let native = value::object(storage).and_then(storage::of);
    let servers = native.map_or(Ok(None), |native| native.servers())?;
    if let Some(Servers::Redis(redis)) = servers
        && redis.transport().is_spread()
    {
        return Err(throw::argument_value(
            1,
            "must not be on a Redis Cluster or a ring",
        ));
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
            T::CLASS.name()
        ))
    })
}

/// Runs an operation on the servers of a storage, under their breakers and the failure policy; see
/// [`Remote::operate`].
fn run<T: Transport, R>(
    remote: &Remote<'static, T>,
    name: &[u8],
    operation: impl FnMut(&Visit<'_, T>) -> Result<R, Cause>,
    fallback: impl FnOnce(OnFailure) -> R,
) -> Result<R, Thrown> {
    let answer = remote.operate(name, operation, |policy, _| fallback(policy));
    exceptions::throw_or_report(answer).map(|it| it.value)
}

/// Counts a decision on the bucket `identifier` that a limiter made from a record that is not a
/// bucket's.
fn count(native: &dyn Storage, identifier: &[u8], by: By, granted: bool) {
    if let Some(store) = attached::store() {
        store.count_for(native.key(identifier), by, granted);
    }
}

/// Decides a step on the bucket `identifier` by the failure policy instead of the store. Counts the
/// decision.
fn fallback(native: &dyn Storage, policy: OnFailure, identifier: &[u8], step: &Step) -> Outcome {
    let key = native.key(identifier);
    let outcome = attached::host().map(|host| policy.answer(host, key, step, None));
    // The default is never used, because the segment exists while PHP code runs.
    outcome.unwrap_or(Outcome::denied(
        Denial::Unavailable,
        Timestamp::ZERO,
        Timestamp::ZERO,
    ))
}
