//! `block()` and `drain()`, which lower the bucket to a number of tokens: to one token at a later
//! instant, or to any number now.
//!
//! Both move the state `empty_at` forward to an instant, and never back. So two blocks at the same
//! time have the effect of one, and no call shortens a block.

use super::charge::changed;
use super::question::Question;
use super::{Bucket, quota};
use crate::{decision, tokens};
use gcra::{Decision, Put, Refill, Step, Ticks};
use stores::remote::Answer;
use zend::{Call, Number, Thrown, Zval};

/// Implements `block(float $seconds): TokenBucket\Decision`.
pub fn block(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let ticks = tokens::span(call.float(1)?, 1)?;
    let mut question = Question::of(call.this::<Bucket>(), Number::Int(1), 1)?;
    question.native("block")?;
    if let Refill::Windows(_) = question.step.refill {
        let decision = block_windows(&question, ticks)?;
        *result = decision::to_object(&question.plan.limit, &decision);
        return Ok(());
    }
    let step = question.measured_step()?;
    // A bucket whose capacity is below one token is full at the end of the block.
    let cost = step.cost.min(step.span);
    let decision = raise(&mut question, Step { cost, ..step }, ticks, "block")?;
    *result = decision::to_object(&question.plan.limit, &decision);
    Ok(())
}

/// Blocks a quota until the end of the window that contains the instant `ticks` from now. A look at
/// the bucket comes first, because the store's clock chooses that window.
fn block_windows(question: &Question<'_>, ticks: Ticks) -> Result<Decision, Thrown> {
    let storage = question.native("block")?;
    let (mut seen, look) = question.look(storage)?;
    let last = quota::windows(question.bucket, seen.value.now + ticks)?;
    let until = last.end();
    let (key, put) = (question.plan.key(), Put::Advance { until });
    let done = storage.put_after(key, &put, seen.fallback)?;
    if storage.is_direct() || done.fallback {
        // A full table or the failure policy may have refused the block.
        seen = storage.take_after(key, &look, done.map(|_| None))?;
    } else {
        seen.value = look.decide(seen.value.empty_at.max(until), seen.value.now);
    }
    Ok(changed(&question.plan.limit, &look, &seen))
}

/// Implements `drain(int|float $tokens = 0): TokenBucket\Decision`.
pub fn drain(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::or(call, 0, 0)?;
    let mut question = Question::of(call.this::<Bucket>(), number, 1)?;
    question.native("drain")?;
    question.refuse_windows("drain()")?;
    let step = question.measured_step()?;
    let decision = raise(&mut question, step, 0, "drain")?;
    *result = decision::to_object(&question.plan.limit, &decision);
    Ok(())
}

/// Lowers the bucket to the tokens of `left`, which it holds `ticks` from now. Changes nothing if
/// they exceed the capacity. Returns the decision as `charge()` does.
fn raise(
    question: &mut Question<'_>,
    left: Step,
    ticks: Ticks,
    method: &str,
) -> Result<Decision, Thrown> {
    // An overriding `_bootstrap()` creates the bucket first, as for a call that takes nothing.
    (question.number, question.step.cost, question.step.span) = (Number::Int(0), 0, left.span);
    let storage = question.native(method)?;
    let mut before = Answer::sure(None);
    if question.plan.overrides.bootstrap {
        before = question.take(storage)?.map(|_| None);
    }
    let (key, span) = (question.plan.key(), left.span);
    let look = Step::new(span, span).dry();
    let seen = if left.exceeds_capacity() {
        storage.take_after(key, &look, before)?
    } else {
        // Both are at most 2^60.
        let age = left.cost.cast_signed() - ticks.cast_signed();
        if before.fallback {
            storage.put_after(key, &Put::Raise { age, span }, true)?;
            storage.take_after(key, &look, before)?
        } else {
            storage.raise(key, age, span)?
        }
    };
    Ok(changed(&question.plan.limit, &look, &seen))
}
