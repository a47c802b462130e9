//! `attempt()` and `peek()`: the methods that return a whole decision.

use super::bucket::{Bucket, with_plan};
use super::question::{Home, Question};
use super::userland;
use crate::{decision, exceptions, storage, tokens};
use gcra::{Decision, Limit, Step};
use zend::{Call, Number, Object, Thrown, Zval};

/// Implements `attempt(int|float $tokens = 1, int|float $floor = 0): TokenBucket\Decision`. Takes
/// the tokens if the bucket holds the tokens and the floor.
pub fn attempt(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let bucket = call.this::<Bucket>();
    *result = if call.count() < 2
        && let Some((limit, decision)) = direct(bucket, number, |step| step)?
    {
        decision::to_object(&limit, &decision)
    } else {
        let question = question(call, bucket, number, "attempt")?;
        to_object(&question, &decide(&question)?)
    };
    Ok(())
}

/// Implements `peek(int|float $tokens = 1, int|float $floor = 0): TokenBucket\Decision`. Runs a dry
/// step, which takes nothing.
pub fn peek(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let bucket = call.this::<Bucket>();
    *result = if call.count() < 2
        && let Some((limit, decision)) = direct(bucket, number, Step::dry)?
    {
        decision::to_object(&limit, &decision)
    } else {
        let question = question(call, bucket, number, "peek")?;
        let (storage, step) = (question.native("peek")?, question.step.dry());
        let answer = question.run(storage, &step)?;
        to_object(&question, &question.decision(&answer))
    };
    Ok(())
}

fn to_object(question: &Question<'_>, decision: &Decision) -> Zval {
    let limit = &question.plan.limit;
    decision::above(limit, decision, question.step.floor(), Zval::null())
}

/// Derives the question of a call that [`direct`] has not decided. [`direct`] decides no call with
/// a floor.
#[inline(always)]
fn question<'a>(
    call: &mut Call<'_>,
    bucket: &'a Object<Bucket>,
    number: Number,
    method: &str,
) -> Result<Question<'a>, Thrown> {
    if call.count() < 2 {
        return Question::of_latest_plan(bucket, number, 1);
    }
    let floor = call.number(2)?;
    let mut question = Question::of(bucket, number, 1)?;
    question.leave(floor, 2, method)?;
    Ok(question)
}

/// Decides a call without a floor that needs only a step in shared memory and no PHP code.
/// `changed` turns the step that takes the tokens into the step that runs. Returns `None` for other
/// calls, which need a [`Question`].
///
/// Returns also the quota, because PHP code may change the bucket when the decision becomes an
/// object.
fn direct(
    bucket: &Object<Bucket>,
    number: Number,
    changed: impl FnOnce(Step) -> Step,
) -> Result<Option<(Limit, Decision)>, Thrown> {
    let decided = with_plan(bucket, |plan| {
        plan.is_direct.then(|| {
            let step = changed(plan.step(number)?);
            let outcome = storage::take(plan.key(), &step, None);
            Ok((plan.limit, Decision::new(&plan.limit, &step, &outcome)))
        })
    })?;
    let decided = decided.transpose();
    decided.map_err(|error| exceptions::bad_amount(1, error))
}

/// Takes the tokens if the bucket holds them, and returns the whole decision.
#[inline(always)]
pub fn decide(question: &Question<'_>) -> Result<Decision, Thrown> {
    match &question.home {
        Home::Native(storage) => Ok(question.decision(&question.take(&**storage)?)),
        Home::Userland(object) => userland::estimate(question, object),
    }
}

/// Takes the tokens if the bucket holds them, and returns true if it did.
pub fn granted(question: &Question<'_>) -> Result<bool, Thrown> {
    match &question.home {
        Home::Native(storage) => Ok(question.take(&**storage)?.value.granted()),
        Home::Userland(object) => userland::consume(question, object),
    }
}
