//! Storages of userland: an object that implements the interface in PHP and decides by itself.
//!
//! Arithmetic here is PHP's own, on the values in the properties, so that the storage is called with
//! the values that the userland class would pass.

use super::bucket::Bucket;
use super::overrides::{self, to_seconds};
use super::plan::{CAPACITY, IDENTIFIER};
use super::question::Question;
use crate::classes::TOKEN_BUCKET;
use crate::zend::call::handler;
use crate::zend::closure::closure;
use crate::zend::{Call, Object, Thrown, Zval, invoke, throw, value};
use tokenbucket_core::{Decision, Denial, Verdict};

/// The closure that a userland storage is given.
fn bootstrap_closure(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let bucket = call.remembered("bucket");
    let bucket = value::object(&bucket)
        .and_then(Object::<Bucket>::of)
        .ok_or_else(|| throw::error("The bootstrap closure was bound to another object"))?;
    overrides::bootstrap(bucket, &call.remembered("token_count"))?;
    value::set_bool(result, true);
    Ok(())
}

/// Asks the userland storage `object`, as the userland class does.
///
/// # Errors
/// What the storage or an overriding method threw.
pub fn consume(question: &Question<'_>, object: &Zval) -> Result<bool, Thrown> {
    if question.step.exceeds_capacity() {
        return Ok(false);
    }
    let (bucket, overrides) = (question.bucket, question.plan.overrides);
    let count = question.number.to_zval();
    let wanted = to_seconds(bucket, overrides, &count)?;
    let full = to_seconds(bucket, overrides, &bucket.copy_property(CAPACITY))?;
    let this = bucket.to_zval();
    let memory = [("bucket", &this), ("token_count", &count)];
    let start =
        closure(&TOKEN_BUCKET, "reset", handler!(bootstrap_closure), &memory).ok_or(Thrown)?;
    let object = value::object(object).ok_or(Thrown)?;
    let identifier = bucket.copy_property(IDENTIFIER);
    let answer = invoke::method(object, "consume", &mut [identifier, wanted, full, start])?;
    Ok(value::is_truthy(&answer))
}

/// Puts the storage's yes or no in words. The other values are bounds that hold unless the bucket is
/// in debt: no tokens may be left, and while nobody else takes any, a denied number of tokens is
/// there after the time in which it refills.
///
/// # Errors
/// As [`consume`].
pub fn estimate(question: &Question<'_>, object: &Zval) -> Result<Decision, Thrown> {
    let granted = consume(question, object)?;
    let (step, burst) = (&question.step, question.plan.quota.burst());
    let (verdict, retry_after) = if granted {
        (Verdict::Granted, Some(0))
    } else if step.exceeds_capacity() {
        (Verdict::Denied(Denial::ExceedsCapacity), None)
    } else if step.cost == 0 {
        // No tokens were asked for: the bucket is in a debt of unknown depth.
        (Verdict::Denied(Denial::Insufficient), Some(burst))
    } else {
        (Verdict::Denied(Denial::Insufficient), Some(step.cost))
    };
    Ok(Decision {
        verdict,
        remaining: 0,
        retry_after,
        reset_after: burst,
    })
}
