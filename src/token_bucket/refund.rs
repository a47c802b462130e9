//! `refund()` and `reset()`: changes that take no tokens.

use super::bucket::Bucket;
use super::question::Question;
use super::tokens;
use crate::exceptions;
use crate::zend::{Call, Number, Thrown, Zval};
use tokenbucket_core::Put;

/// Implements `refund(int|float $tokens = 1): void`. Throws `LogicException` for a userland
/// storage.
pub fn refund(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let question = Question::of(call.this::<Bucket>(), number, 1)?;
    let burst = question.step.burst;
    let cost = if question.plan.overrides.tokens_to_seconds {
        question.step.cost
    } else {
        let tokens = number.tokens();
        let tokens = tokens.map_err(|error| exceptions::bad_amount(1, error))?;
        question.plan.quota.refund(tokens)
    };
    let put = Put::refund(cost, burst);
    let storage = question.native("refund")?;
    storage.put(question.plan.key(), &put).map(drop)
}

/// Implements `reset(): void`. Throws `LogicException` for a userland storage.
pub fn reset(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let question = Question::of(call.this::<Bucket>(), Number::Int(0), 1)?;
    let burst = question.step.burst;
    let storage = question.native("reset")?;
    let put = Put::Reset { burst };
    storage.put(question.plan.key(), &put).map(drop)
}
