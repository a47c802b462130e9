//! `TokenBucketStorage`, and how ours answer when a userland bucket calls them.
//!
//! The interface speaks in seconds: a span that refills what is wanted, and one that refills the whole
//! bucket. Wall-clock instants, which only `bootstrap()` is given, are converted by their age.

use super::Native;
use crate::exceptions;
use crate::zend::{Call, Object, State, Thrown, Zval, invoke, throw, value};
use tokenbucket_core::clock::wall_clock;
use tokenbucket_core::quota::MAX_BURST;
use tokenbucket_core::store::empty_at;
use tokenbucket_core::{AmountError, Key, Put, Step, TICKS_PER_SECOND, Ticks, seconds};

/// A class of ours that implements the interface.
pub trait Storage: State {
    /// The storage that an object of the class is.
    fn native(object: &Object<Self>) -> Native<'_>;

    /// What `prepare()` does, where there is something to do.
    ///
    /// # Errors
    /// What a failing store makes throw.
    fn prepare(_object: &Object<Self>) -> Result<(), Thrown> {
        Ok(())
    }
}

/// `prepare()`
pub fn prepare<S: Storage>(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    S::prepare(call.this())
}

/// `bootstrap($identifier, $microtime)`
pub fn bootstrap<S: Storage>(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let native = S::native(call.this());
    let identifier = call.untyped_string(1)?;
    let microtime = call.untyped_number(2)?.to_float();
    if !microtime.is_finite() {
        return Err(exceptions::bad_amount(2, AmountError::NotFinite));
    }
    start_at(native, value::bytes(&identifier), age(microtime))
}

/// Makes the first record, or proposes it to the `consume()` whose closure is running.
///
/// # Errors
/// As [`Native::put`].
pub fn start_at(native: Native<'_>, identifier: &[u8], age: i64) -> Result<(), Thrown> {
    let first = empty_at(native.now(), age);
    if !native.proposals().propose(identifier, first) {
        native.put(native.key(identifier), &Put::Bootstrap { age })?;
    }
    Ok(())
}

/// How long ago a wall-clock second was, in ticks: negative if it is still to come, at most 2^60.
///
/// A double of today's seconds is coarser than a tenth of a microsecond, so a microsecond is added:
/// k tokens proposed are k tokens held.
pub fn age(microtime: f64) -> i64 {
    let seconds = wall_clock().as_secs_f64() - microtime;
    let limit = MAX_BURST as f64;
    let ticks = (seconds * TICKS_PER_SECOND as f64 + 1e3).clamp(-limit, limit);
    // Clamped to 2^60.
    #[allow(clippy::cast_possible_truncation)]
    {
        ticks as i64
    }
}

/// `consume($identifier, $microtime, $full_microtime, $bootstrap_closure)`
pub fn consume<S: Storage>(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let native = S::native(call.this());
    let identifier = call.untyped_string(1)?;
    let cost = call.untyped_number(2)?.to_float();
    let full = call.untyped_number(3)?.to_float();
    let closure = call.arg(4);
    if !invoke::is_callable(closure) {
        return Err(throw::argument_type(4, "must be a valid callback"));
    }
    let step = seconds::to_step(cost, full, native.grain())
        .map_err(|error| exceptions::bad_span(2, error))?;
    let key = native.key(value::bytes(&identifier));
    let started = start(native, key, &step, || {
        Ok(value::is_truthy(&invoke::callable(closure)?))
    })?;
    let granted = match started {
        Start::Refused => false,
        Start::At(first) => native.take(key, &step, first)?.granted(),
    };
    value::set_bool(result, granted);
    Ok(())
}

/// What came of the bootstrap of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The bucket is not to be.
    Refused,
    /// It starts from this state if it has no record; without one, full. The tokens are charged in
    /// either case: a bootstrap that says yes must not be a way around the limit.
    At(Option<Ticks>),
}

/// Runs `bootstrap` if the bucket has no record, and tells what it proposed.
///
/// # Errors
/// What `bootstrap` threw; nothing is written then.
pub fn start(
    native: Native<'_>,
    key: Key<'_>,
    step: &Step,
    bootstrap: impl FnOnce() -> Result<bool, Thrown>,
) -> Result<Start, Thrown> {
    if step.cost > step.burst || native.contains(key)? {
        return Ok(Start::At(None));
    }
    let proposal = native.proposals().open(key.identifier);
    let agreed = bootstrap();
    let first = native.proposals().close(proposal);
    Ok(if agreed? {
        Start::At(first)
    } else {
        Start::Refused
    })
}
