//! `refund()` and `reset()`: changes that take no tokens.

use super::bucket::Bucket;
use super::question::Question;
use crate::tokens;
use gcra::Put;
use zend::{Call, Number, Thrown, Zval};

/// Implements `refund(int|float $tokens = 1): void`. Throws `LogicException` for a userland
/// storage.
pub fn refund(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let question = Question::of(call.this::<Bucket>(), number, 1)?;
    let storage = question.native("refund")?;
    let plan = &question.plan;
    if plan.overrides.tokens_to_seconds {
        let step = question.measured_step()?;
        let put = Put::refund(step.cost, step.span);
        return storage.put(plan.key(), &put).map(drop);
    }
    let tokens = tokens::of_argument(number, 1)?;
    question
        .give_back(storage, plan.limit.refund(tokens))
        .map(drop)
}

/// Implements `reset(): void`. Throws `LogicException` for a userland storage.
pub fn reset(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let question = Question::of(call.this::<Bucket>(), Number::Int(0), 1)?;
    let span = question.step.span;
    let storage = question.native("reset")?;
    let put = Put::Reset { span };
    storage.put(question.plan.key(), &put).map(drop)
}
