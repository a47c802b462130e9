//! `attempt()` and `peek()`: the methods that return a whole decision.

use super::bucket::{Bucket, with_plan};
use super::question::{Home, Question};
use super::userland;
use crate::{decision, exceptions, storage, tokens};
use gcra::{Decision, Quota, Step};
use zend::{Call, Number, Object, Thrown, Zval};

/// Implements `attempt(int|float $tokens = 1): TokenBucket\Decision`. Takes the tokens if the
/// bucket holds them.
pub fn attempt(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let bucket = call.this::<Bucket>();
    *result = if let Some((quota, decision)) = direct(bucket, number, |step| step)? {
        decision::to_object(&quota, &decision)
    } else {
        let question = Question::of_latest_plan(bucket, number, 1)?;
        decision::to_object(&question.plan.quota, &decide(&question)?)
    };
    Ok(())
}

/// Implements `peek(int|float $tokens = 1): TokenBucket\Decision`. Runs a dry step, which takes
/// nothing.
pub fn peek(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let bucket = call.this::<Bucket>();
    *result = if let Some((quota, decision)) = direct(bucket, number, Step::dry)? {
        decision::to_object(&quota, &decision)
    } else {
        let question = Question::of_latest_plan(bucket, number, 1)?;
        let (storage, step) = (question.native("peek")?, question.step.dry());
        let outcome = storage.take_or_fall_back(question.plan.key(), &step, None)?;
        decision::to_object(&question.plan.quota, &question.decision(&outcome))
    };
    Ok(())
}

/// Decides a call that needs only a step in shared memory and no PHP code. `changed` returns the
/// step that runs. Returns `None` for other calls, which need a [`Question`].
///
/// Returns also the quota, because PHP code may change the bucket when the decision becomes an
/// object.
///
/// # Errors
/// Fails as [`Question::of`] does.
fn direct(
    bucket: &Object<Bucket>,
    number: Number,
    changed: impl FnOnce(Step) -> Step,
) -> Result<Option<(Quota, Decision)>, Thrown> {
    let decided = with_plan(bucket, |plan| {
        plan.is_direct.then(|| {
            let step = changed(plan.step(number)?);
            let outcome = storage::take(plan.key(), &step, None);
            Ok((plan.quota, Decision::new(&plan.quota, &step, &outcome)))
        })
    })?;
    let decided = decided.transpose();
    decided.map_err(|error| exceptions::bad_amount(1, error))
}

/// Takes the tokens if the bucket holds them, and returns the whole decision.
///
/// # Errors
/// Throws the exception of a store that failed, or of PHP code that ran.
pub fn decide(question: &Question<'_>) -> Result<Decision, Thrown> {
    match &question.home {
        Home::Native(storage) => Ok(question.decision(&question.take(&**storage)?)),
        Home::Userland(object) => userland::estimate(question, object),
    }
}

/// Takes the tokens if the bucket holds them, and returns true if it did.
///
/// # Errors
/// Fails as [`decide`] does.
pub fn granted(question: &Question<'_>) -> Result<bool, Thrown> {
    match &question.home {
        Home::Native(storage) => Ok(question.take(&**storage)?.value.granted()),
        Home::Userland(object) => userland::consume(question, object),
    }
}
