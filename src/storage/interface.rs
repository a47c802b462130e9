//! The methods of `TokenBucketStorage` on the extension's storages, as userland buckets call them.
//!
//! `consume()` gets two times in seconds: the time in which the tokens of the call are refilled,
//! and the time in which the whole bucket is refilled. `bootstrap()` gets an instant in seconds on
//! the clock that PHP code reads. It is converted to its age.

use super::contract::{First, Storage};
use crate::exceptions;
use gcra::store::UNKNOWN_SPAN;
use gcra::{
    AmountError, Grain, Key, MAX_SPAN, Put, Step, TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Ticks,
    empty_at, seconds,
};
use stores::remote::Answer;
use zend::{Call, Object, State, Thrown, Zval, invoke, throw, value};

/// A state whose objects are storages.
pub trait StorageState: State {
    fn storage(object: &Object<Self>) -> &dyn Storage;
}

impl<S: State> StorageState for S
where
    Object<S>: Storage,
{
    fn storage(object: &Object<Self>) -> &dyn Storage {
        object
    }
}

/// Implements `prepare()`. See [`Storage::prepare`].
pub fn prepare<S: StorageState>(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    S::storage(call.this()).prepare()
}

/// Implements `bootstrap($identifier, $microtime)`. Creates the record of a bucket that was empty
/// at `$microtime`, a wall-clock instant in seconds.
pub fn bootstrap<S: StorageState>(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let storage = S::storage(call.this());
    let identifier = call.untyped_string(1)?;
    let microtime = call.untyped_number(2)?.to_float();
    if !microtime.is_finite() {
        return Err(exceptions::bad_amount(2, AmountError::NotFinite));
    }
    let seconds = storage.seconds_since(microtime);
    start_at(storage, value::bytes(&identifier), seconds, UNKNOWN_SPAN)
}

/// Writes the first record of a bucket that was empty `seconds` ago. While a bootstrap closure runs
/// for the bucket, proposes that state to the running `consume()` instead.
pub fn start_at(
    storage: &dyn Storage,
    identifier: &[u8],
    seconds: f64,
    span: Ticks,
) -> Result<(), Thrown> {
    let age = age(seconds, storage.grain());
    let first = empty_at(storage.now(), age);
    if !storage.proposals().propose(identifier, first) {
        storage.put(storage.key(identifier), &Put::Bootstrap { age, span })?;
    }
    Ok(())
}

/// Returns the age of an instant `seconds` ago in ticks. It is negative for an instant in the
/// future, and limited to 2^60 on either side.
///
/// A double with today's Unix time is coarser than a tenth of a microsecond. So a microsecond is
/// added, which makes sure that a proposal of k tokens gives at least k tokens. Instants of a fake
/// clock are exact, so nothing is added to them.
fn age(seconds: f64, grain: Grain) -> i64 {
    let limit = MAX_SPAN as f64;
    let added = match grain {
        Grain::FakeNanosecond => 0,
        Grain::Nanosecond | Grain::Microsecond => TICKS_PER_MICROSECOND,
    };
    let ticks = (seconds * TICKS_PER_SECOND as f64).round() + added as f64;
    // The value is clamped to 2^60.
    #[allow(clippy::cast_possible_truncation)]
    {
        ticks.clamp(-limit, limit) as i64
    }
}

/// Implements `consume($identifier, $microtime, $full_microtime, $bootstrap_closure)`. Returns true
/// if the tokens were taken. The two times are in seconds.
pub fn consume<S: StorageState>(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let storage = S::storage(call.this());
    let identifier = call.untyped_string(1)?;
    let cost = call.untyped_number(2)?.to_float();
    let full = call.untyped_number(3)?.to_float();
    let closure = call.arg(4);
    if !invoke::is_callable(closure) {
        return Err(throw::argument_type(4, "must be a valid callback"));
    }
    let step = seconds::to_step(cost, full, storage.grain())
        .map_err(|error| exceptions::bad_span(2, error))?;
    let key = storage.key(value::bytes(&identifier));
    let mut agreed = true;
    let first = first_state(storage, key, &step, || {
        let answer = invoke::callable(closure, &mut [])?;
        agreed = value::is_truthy(&answer);
        Ok(())
    })?;
    let granted = agreed && storage.take_after(key, &step, first)?.value.granted();
    value::set_bool(result, granted);
    Ok(())
}

/// Runs `bootstrap` if the bucket has no record, and returns the state that `bootstrap` proposed.
/// Returns `None` without a proposal, so that the bucket starts full. The caller charges the tokens
/// in either case, so that a bootstrap closure cannot bypass the limit. Nothing is
/// written if it throws. The step must be run by [`Storage::take_after`].
pub fn first_state(
    storage: &dyn Storage,
    key: Key<'_>,
    step: &Step,
    bootstrap: impl FnOnce() -> Result<(), Thrown>,
) -> Result<First, Thrown> {
    if step.exceeds_capacity() {
        return Ok(Answer::sure(None));
    }
    let known = storage.contains(key)?;
    if known.value {
        return Ok(known.map(|_| None));
    }
    let proposal = storage.proposals().open(key.identifier);
    bootstrap().map(|()| known.map(|_| proposal.first()))
}
