//! The road that code written for the userland class takes: protected methods that a subclass
//! overrides, and storages of userland.
//!
//! Arithmetic here is PHP's own, on the values in the properties, so that an overriding method and a
//! userland storage see what they would see there.

use super::ask::Asked;
use super::{Bucket, CAPACITY, IDENTIFIER, RATE, STORAGE, cost, with_plan};
use crate::declared::TOKEN_BUCKET;
use crate::exceptions;
use crate::storage::{self, Backend, Start};
use crate::zend::closure::closure;
use crate::zend::declare::handler;
use crate::zend::{Call, Number, Object, Thrown, Zval, invoke, throw, value};
use tokenbucket_core::clock::wall_clock;
use tokenbucket_core::{
    AmountError, Decision, Denial, Grain, Outcome, Quota, Reason, Step, Ticks, Verdict, seconds,
};

/// `TokenBucket::MICROTIME_DELTA`
pub const MICROTIME_DELTA: f64 = 0.0001;

/// `compare_microtimes($m1, $m2)`: 0, 1 or -1, equal within a relative tolerance.
pub fn compare_microtimes(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let (m1, m2) = (
        call.untyped_number(1)?.to_float(),
        call.untyped_number(2)?.to_float(),
    );
    let delta = call
        .static_constant(&TOKEN_BUCKET, "MICROTIME_DELTA")
        .unwrap_or(MICROTIME_DELTA);
    // As the userland class has it, but that it divides by a second argument of zero.
    let equal = if m2 == 0.0 {
        (m1 - m2).abs() < delta
    } else {
        ((m1 - m2) / m2).abs() < delta
    };
    let order = if equal {
        0
    } else if m1 > m2 {
        1
    } else {
        -1
    };
    result.set_long(order);
    Ok(())
}

/// `_tokens_to_seconds($tokens)`
pub fn tokens_to_seconds(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let rate = call.this::<Bucket>().copy_property(RATE);
    *result = value::divide(call.arg(1), &rate).ok_or(Thrown)?;
    Ok(())
}

/// `_seconds_to_tokens($seconds)`
pub fn seconds_to_tokens(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let rate = call.this::<Bucket>().copy_property(RATE);
    *result = value::multiply(call.arg(1), &rate).ok_or(Thrown)?;
    Ok(())
}

/// `_bootstrap($initialTokens)`
pub fn bootstrap(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let bucket = call.this::<Bucket>();
    let span = to_seconds(bucket, call.arg(1))?;
    let span = value::to_number(&span).map_or(f64::NAN, Number::to_float);
    if !span.is_finite() {
        return Err(exceptions::bad_amount(1, AmountError::NotFinite));
    }
    let microtime = wall_clock().as_secs_f64() - span;
    let name = with_plan(bucket, |plan| plan.identifier().shallow_clone())?;
    // Held: what runs below may give the bucket another.
    let held = bucket.copy_property(STORAGE);
    match Backend::of(value::object(&held).ok_or(Thrown)?) {
        Backend::Native(native) => {
            storage::start_at(native, value::bytes(&name), storage::age(microtime))?;
        }
        Backend::Userland(object) => {
            let identifier = bucket.copy_property(IDENTIFIER);
            let mut arguments = [identifier, value::of_float(microtime)];
            invoke::method(object, "bootstrap", &mut arguments)?;
        }
    }
    Ok(())
}

/// The span that `tokens` refill in, by the class's own `_tokens_to_seconds()`.
fn to_seconds(bucket: &Object<Bucket>, tokens: &Zval) -> Result<Zval, Thrown> {
    let overrides = with_plan(bucket, |plan| plan.overrides)?;
    if overrides.tokens_to_seconds {
        invoke::method(
            bucket.zend(),
            "_tokens_to_seconds",
            &mut [tokens.shallow_clone()],
        )
    } else {
        value::divide(tokens, &bucket.copy_property(RATE)).ok_or(Thrown)
    }
}

/// The step that the class's own `_tokens_to_seconds()` makes of `number` tokens.
///
/// # Errors
/// What it threw, or `ValueError` for spans that are none.
pub fn step(bucket: &Object<Bucket>, number: Number, grain: Grain) -> Result<Step, Thrown> {
    let float = |zval: &Zval| value::to_number(zval).map_or(f64::NAN, Number::to_float);
    let cost = float(&to_seconds(bucket, &number.to_zval())?);
    let full = float(&to_seconds(bucket, &bucket.copy_property(CAPACITY))?);
    seconds::to_step(cost, full, grain)
        .map_err(|error| throw::value_error(&format!("_tokens_to_seconds(): {error}")))
}

/// How a bucket without a record starts.
pub enum First {
    /// Not at all.
    Refused(Outcome),
    /// From this state; full if there is none.
    At(Option<Ticks>),
}

/// Asks an overriding `_bootstrap()` how the bucket starts, if it has no record yet.
///
/// # Errors
/// What it threw; nothing is written then.
pub fn first_state(
    bucket: &Object<Bucket>,
    number: Number,
    asked: &Asked<'_>,
) -> Result<First, Thrown> {
    if asked.cost.is_none() || !asked.overrides.bootstrap {
        return Ok(First::At(None));
    }
    let step = asked.step();
    let start = storage::start(asked.native, asked.key(), &step, || {
        call_bootstrap(bucket, &number.to_zval()).map(|()| true)
    })?;
    Ok(match start {
        Start::At(first) => First::At(first),
        Start::Refused => First::Refused(Outcome {
            verdict: Verdict::Denied(Denial::Insufficient),
            now: asked.native.now(),
            empty_at: 0,
        }),
    })
}

/// `$this->_bootstrap($this->_bucket_capacity - $token_count)`
fn call_bootstrap(bucket: &Object<Bucket>, token_count: &Zval) -> Result<(), Thrown> {
    let initial = value::subtract(&bucket.copy_property(CAPACITY), token_count).ok_or(Thrown)?;
    invoke::method(bucket.zend(), "_bootstrap", &mut [initial]).map(drop)
}

/// The closure that a userland storage is given.
fn bootstrap_closure(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let bucket = call.remembered("bucket");
    let bucket = value::object(&bucket)
        .and_then(Object::<Bucket>::of)
        .ok_or_else(|| throw::error("The bootstrap closure was bound to another object"))?;
    call_bootstrap(bucket, &call.remembered("token_count"))?;
    value::set_bool(result, true);
    Ok(())
}

/// Asks a userland storage, as the userland class does.
///
/// # Errors
/// What is wrong with the number or the bucket, or what userland threw.
pub fn consume(bucket: &Object<Bucket>, number: Number) -> Result<bool, Thrown> {
    let cost = with_plan(bucket, |plan| cost(&plan.quota, number))?;
    if cost
        .map_err(|error| exceptions::bad_amount(1, error))?
        .is_none()
    {
        return Ok(false);
    }
    let count = number.to_zval();
    let wanted = to_seconds(bucket, &count)?;
    let full = to_seconds(bucket, &bucket.copy_property(CAPACITY))?;
    let this = bucket.to_zval();
    let memory = [("bucket", &this), ("token_count", &count)];
    let start =
        closure(&TOKEN_BUCKET, "reset", handler!(bootstrap_closure), &memory).ok_or(Thrown)?;
    // Held for the call: the method may replace the property.
    let storage = bucket.copy_property(STORAGE);
    let object = value::object(&storage).ok_or(Thrown)?;
    let identifier = bucket.copy_property(IDENTIFIER);
    let answer = invoke::method(object, "consume", &mut [identifier, wanted, full, start])?;
    Ok(value::is_truthy(&answer))
}

/// The answer of a userland storage in words: it says yes or no, the rest are bounds that hold unless
/// the bucket is in debt. No tokens may be left; so long as nobody else takes any, those denied are
/// there after the time in which they refill.
///
/// # Errors
/// What is wrong with the number or the bucket, or what userland threw.
pub fn estimate(bucket: &Object<Bucket>, number: Number) -> Result<(Quota, Decision), Thrown> {
    let granted = consume(bucket, number)?;
    let quota = with_plan(bucket, |plan| plan.quota)?;
    let cost = cost(&quota, number).unwrap_or(None);
    let (reason, retry_after) = match (granted, cost) {
        (true, _) => (Reason::Granted, Some(0)),
        // No tokens, and denied: in a debt of unknown depth.
        (false, Some(0)) => (Reason::InsufficientTokens, Some(quota.burst())),
        (false, Some(cost)) => (Reason::InsufficientTokens, Some(cost)),
        (false, None) => (Reason::ExceedsCapacity, None),
    };
    let decision = Decision {
        reason,
        remaining: 0,
        retry_after,
        reset_after: quota.burst(),
    };
    Ok((quota, decision))
}
