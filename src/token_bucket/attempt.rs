//! `attempt()` and `peek()`: the methods that return a whole decision.

use super::bucket::Bucket;
use super::question::{Home, Question};
use super::userland;
use crate::{decision, tokens};
use gcra::Decision;
use zend::{Call, Thrown, Zval};

/// Implements `attempt(int|float $tokens = 1): TokenBucket\Decision`. Takes the tokens if the
/// bucket holds them.
pub fn attempt(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let question = Question::of(call.this::<Bucket>(), number, 1)?;
    *result = decision::to_object(&question.plan.quota, &decide(&question)?)?;
    Ok(())
}

/// Implements `peek(int|float $tokens = 1): TokenBucket\Decision`. Runs a dry step, which takes
/// nothing.
pub fn peek(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let question = Question::of(call.this::<Bucket>(), number, 1)?;
    let storage = question.native("peek")?;
    let key = question.plan.key();
    let answer = storage.take_or_fall_back(key, &question.step.dry(), None)?;
    *result = decision::to_object(&question.plan.quota, &question.decision(answer))?;
    Ok(())
}

/// Takes the tokens if the bucket holds them, and returns the whole decision.
///
/// # Errors
/// Throws the exception of a store that failed, or of PHP code that ran.
pub fn decide(question: &Question<'_>) -> Result<Decision, Thrown> {
    match &question.home {
        Home::Native(storage) => Ok(question.decision(question.take(&**storage)?)),
        Home::Userland(object) => userland::estimate(question, object),
    }
}

/// Takes the tokens if the bucket holds them, and returns true if it did.
///
/// # Errors
/// Fails as [`decide`] does.
pub fn granted(question: &Question<'_>) -> Result<bool, Thrown> {
    match &question.home {
        Home::Native(storage) => Ok(question.take(&**storage)?.0.granted()),
        Home::Userland(object) => userland::consume(question, object),
    }
}
