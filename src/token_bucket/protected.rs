//! The protected methods of the class, and calls of methods that a subclass overrides.
//!
//! Calculations use PHP's own arithmetic on the property values, so that an overriding method
//! receives the same values as in the userland class.

use super::bucket::{Bucket, property, with_plan};
use super::plan::{CAPACITY, IDENTIFIER, Overrides, Plan, RATE, STORAGE};
use crate::classes::TOKEN_BUCKET;
use crate::exceptions;
use crate::storage;
use gcra::{AmountError, Grain, Step, seconds, wall_clock};
use zend::{Call, Kept, Number, Object, Thrown, Zval, arithmetic, invoke, throw, value};

/// `TokenBucket::MICROTIME_DELTA`
const MICROTIME_DELTA: f64 = 0.0001;

/// Implements `compare_microtimes($m1, $m2)`. Returns 0, 1 or -1. Values within a relative
/// tolerance are equal.
pub fn compare_microtimes(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let m1 = call.untyped_number(1)?.to_float();
    let m2 = call.untyped_number(2)?.to_float();
    let delta = call
        .static_constant(&TOKEN_BUCKET, "MICROTIME_DELTA")
        .unwrap_or(MICROTIME_DELTA);
    // This differs from the userland class only if `$m2` is zero, because the userland class then
    // divides by zero.
    let scale = if m2 == 0.0 { 1.0 } else { m2 };
    let order = if ((m1 - m2) / scale).abs() < delta {
        0
    } else if m1 > m2 {
        1
    } else {
        -1
    };
    result.set_long(order);
    Ok(())
}

/// Implements `_tokens_to_seconds($tokens)`. Returns the tokens divided by the rate.
pub fn tokens_to_seconds(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let rate = property(call.this(), RATE)?;
    *result = arithmetic::divide(call.arg(1), &rate).ok_or(Thrown)?;
    Ok(())
}

/// Implements `_seconds_to_tokens($seconds)`. Returns the seconds times the rate.
pub fn seconds_to_tokens(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let rate = property(call.this(), RATE)?;
    *result = arithmetic::multiply(call.arg(1), &rate).ok_or(Thrown)?;
    Ok(())
}

/// Implements `_bootstrap($initialTokens)`. Creates the record of a bucket that holds these tokens.
pub fn protected_bootstrap(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let bucket = call.this::<Bucket>();
    let plan = with_plan(bucket, Plan::copy)?;
    let span = seconds_of(bucket, plan.overrides, call.arg(1))?;
    if !span.is_finite() {
        return Err(exceptions::bad_amount(1, AmountError::NotFinite));
    }
    // This keeps the storage alive, because PHP code that runs below may give the bucket another
    // one.
    let held = match storage::held(bucket.copy_property(STORAGE)) {
        Ok(storage) => {
            let identifier = plan.key().identifier;
            return storage::start_at(&*storage, identifier, span, plan.limit.span());
        }
        Err(userland) => userland,
    };
    let microtime = wall_clock().as_secs_f64() - span;
    let mut arguments = [property(bucket, IDENTIFIER)?, value::of_float(microtime)];
    let object = value::object(&held).ok_or(Thrown)?;
    invoke::method(object, "bootstrap", &mut arguments).map(drop)
}

/// Returns the seconds in which `tokens` refill. Calls `_tokens_to_seconds()` if the bucket's class
/// overrides it.
pub fn to_seconds(
    bucket: &Object<Bucket>,
    overrides: Overrides,
    tokens: &Zval,
) -> Result<Kept, Thrown> {
    if overrides.tokens_to_seconds {
        let mut arguments = [tokens.shallow_clone()];
        return invoke::method(bucket.zend(), "_tokens_to_seconds", &mut arguments);
    }
    let seconds = arithmetic::divide(tokens, &property(bucket, RATE)?);
    seconds.map(Kept::from).ok_or(Thrown)
}

/// Returns the result of [`to_seconds`] as a double, or NaN if it is not a number.
fn seconds_of(bucket: &Object<Bucket>, overrides: Overrides, tokens: &Zval) -> Result<f64, Thrown> {
    let seconds = to_seconds(bucket, overrides, tokens)?;
    Ok(value::to_number(&seconds).map_or(f64::NAN, Number::to_float))
}

/// Returns the step that takes `number` tokens, with the times that an overriding
/// `_tokens_to_seconds()` returns. Throws the exception of that method, or `ValueError` if it
/// returns an invalid number of seconds.
pub fn step(
    bucket: &Object<Bucket>,
    overrides: Overrides,
    number: Number,
    grain: Grain,
) -> Result<Step, Thrown> {
    let cost = seconds_of(bucket, overrides, &number.to_zval())?;
    let full = seconds_of(bucket, overrides, &property(bucket, CAPACITY)?)?;
    seconds::to_step(cost, full, grain)
        .map_err(|error| throw::value_error(&format!("_tokens_to_seconds(): {error}")))
}

/// Calls `$this->_bootstrap($this->_bucket_capacity - $token_count)`.
pub fn bootstrap(bucket: &Object<Bucket>, token_count: &Zval) -> Result<(), Thrown> {
    let initial = arithmetic::subtract(&property(bucket, CAPACITY)?, token_count).ok_or(Thrown)?;
    invoke::method(bucket.zend(), "_bootstrap", &mut [initial]).map(drop)
}
