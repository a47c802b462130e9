//! Calls on userland storages, which implement `TokenBucketStorage` in PHP and decide there.
//!
//! Calculations use PHP's own arithmetic on the property values. So the storage gets the same
//! values as from the userland class.

use super::bucket::{Bucket, property};
use super::plan::{CAPACITY, IDENTIFIER};
use super::protected::{self, to_seconds};
use super::question::Question;
use crate::classes::TOKEN_BUCKET;
use gcra::{Decision, Denial, Verdict};
use zend::closure::closure;
use zend::handler;
use zend::{Call, Object, Thrown, Zval, invoke, throw, value};

/// Implements the bootstrap closure that is passed to a userland storage.
fn bootstrap_closure(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let bucket = call.remembered("bucket");
    let bucket = value::object(&bucket)
        .and_then(Object::<Bucket>::of)
        .ok_or_else(|| throw::error("The bootstrap closure was bound to another object"))?;
    protected::bootstrap(bucket, &call.remembered("token_count"))?;
    value::set_bool(result, true);
    Ok(())
}

/// Calls `consume()` of the userland storage `object`, as the userland class does.
pub fn consume(question: &Question<'_>, object: &Zval) -> Result<bool, Thrown> {
    if question.step.exceeds_capacity() {
        return Ok(false);
    }
    let (bucket, overrides) = (question.bucket, question.plan.overrides);
    let count = question.number.to_zval();
    let wanted = to_seconds(bucket, overrides, &count)?;
    let full = to_seconds(bucket, overrides, &property(bucket, CAPACITY)?)?;
    let this = bucket.to_zval();
    let memory = [("bucket", &this), ("token_count", &count)];
    let start =
        closure(&TOKEN_BUCKET, "reset", handler!(bootstrap_closure), &memory).ok_or(Thrown)?;
    let object = value::object(object).ok_or(Thrown)?;
    let identifier = property(bucket, IDENTIFIER)?;
    let mut arguments = [identifier, wanted.into_zval(), full.into_zval(), start];
    let answer = invoke::method(object, "consume", &mut arguments)?;
    Ok(value::is_truthy(&answer))
}

/// Makes a decision from the storage's boolean result. The other values are estimates that hold
/// unless the bucket is in debt. `remaining` is 0, its lower bound. `retry_after` is the time in
/// which the denied tokens refill if no other call takes tokens.
pub fn estimate(question: &Question<'_>, object: &Zval) -> Result<Decision, Thrown> {
    let granted = consume(question, object)?;
    let (step, span) = (&question.step, question.plan.limit.span());
    let (verdict, retry_after) = if granted {
        (Verdict::Granted, Some(0))
    } else if step.exceeds_capacity() {
        (Verdict::Denied(Denial::ExceedsCapacity), None)
    } else if step.cost == 0 {
        // A denial of zero tokens means that the bucket is in debt. The depth of the debt is
        // unknown.
        (Verdict::Denied(Denial::Insufficient), Some(span))
    } else {
        (Verdict::Denied(Denial::Insufficient), Some(step.cost))
    };
    Ok(Decision {
        verdict,
        remaining: 0,
        retry_after,
        reset_after: span,
        fallback: false,
    })
}
