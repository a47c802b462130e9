//! `charge()` and `settle()`, which take tokens even if the bucket does not hold them.

use super::question::Question;
use super::{Bucket, protected};
use crate::{decision, tokens};
use gcra::{
    Decision, Denial, Limit, MAX_WAIT, Outcome, Patience, Refill, Step, TICKS_PER_SECOND, Ticks,
    Verdict,
};
use stores::remote::Answer;
use zend::{Call, Number, Thrown, Zval, arithmetic, throw, value};

/// Implements `charge(int|float $tokens): TokenBucket\Decision`.
pub fn charge(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = call.number(1)?;
    let mut question = Question::of(call.this::<Bucket>(), number, 1)?;
    let cost = price(&mut question, number, 1)?;
    let decision = charged(&mut question, cost, "charge", 1)?;
    *result = decision::to_object(&question.plan.limit, &decision);
    Ok(())
}

/// Implements `settle(int|float $reserved, int|float $actual): TokenBucket\Decision`.
pub fn settle(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let (reserved, actual) = (call.number(1)?, call.number(2)?);
    let mut question = Question::of(call.this::<Bucket>(), reserved, 1)?;
    let taken = price(&mut question, reserved, 1)?;
    // Both costs are rounded up in the same way, so in total exactly the actual cost is taken.
    let cost = price(&mut question, actual, 2)?;
    let decision = if cost >= taken {
        // An overriding `_bootstrap()` gets the tokens that this call takes.
        let more = arithmetic::subtract(&actual.to_zval(), &reserved.to_zval()).ok_or(Thrown)?;
        question.number = value::to_number(&more).ok_or(Thrown)?;
        charged(&mut question, cost - taken, "settle", 2)?
    } else {
        given_back(&question, taken - cost)?
    };
    *result = decision::to_object(&question.plan.limit, &decision);
    Ok(())
}

/// Returns the cost of `number` tokens in ticks. The tokens may exceed the capacity. If the class
/// overrides `_tokens_to_seconds()`, sets the question's span to the span that this method returns.
/// Throws `ValueError` for an invalid number, or if the tokens take more than 36 years to refill.
fn price(question: &mut Question<'_>, number: Number, argument: u32) -> Result<Ticks, Thrown> {
    let tokens = tokens::of_argument(number, argument)?;
    let plan = &question.plan;
    if plan.overrides.tokens_to_seconds {
        let grain = plan.limit.grain();
        let step = protected::step(question.bucket, plan.overrides, number, grain)?;
        question.step.span = step.span;
        return Ok(step.cost);
    }
    plan.limit.price(tokens).ok_or_else(|| {
        throw::argument_value(
            argument,
            "must refill within 2^60 nanoseconds at the bucket's rate",
        )
    })
}

/// Takes tokens, even if the bucket does not hold them. Returns a denial only if the store could
/// not take them, if the window is blocked, or if another call has already begun the next window.
/// Throws `ValueError` if the debt would exceed [`MAX_WAIT`] ticks. Then no tokens are taken.
fn charged(
    question: &mut Question<'_>,
    cost: Ticks,
    method: &str,
    argument: u32,
) -> Result<Decision, Thrown> {
    let (max_wait, message) = most_debt(&question.step);
    let step = question.step.with(Patience::Wait(max_wait));
    question.step = Step { cost, ..step };
    let answer = question.take(question.native(method)?)?;
    let step = question.step_at(answer.value.now);
    let is_closed = step.is_closed(answer.value.empty_at);
    let decision = question.decision(&answer);
    match decision.verdict {
        // The window is blocked, or another call, whose clock is ahead, has begun the next one. So
        // nothing can be taken from the window of this call.
        _ if is_closed => Ok(decision),
        Verdict::Denied(Denial::Insufficient | Denial::ExceedsCapacity) => {
            Err(throw::argument_value(argument, message))
        }
        _ => Ok(decision),
    }
}

/// Returns the most ticks by which a charge may exceed the capacity, and the message for a charge
/// that exceeds them. The charges of a window stay in the window, so that the next one starts full.
fn most_debt(step: &Step) -> (Ticks, &'static str) {
    let Refill::Windows(windows) = step.refill else {
        let message = "must not leave a debt that takes more than 2^60 nanoseconds to repay";
        return (MAX_WAIT, message);
    };
    let shortest = windows.lengths.into_iter().min().unwrap_or(0);
    let most = Ticks::from(shortest) * TICKS_PER_SECOND;
    let message = "must not charge a window more tokens than it has microseconds";
    (most.saturating_sub(step.span), message)
}

/// Refunds `cost` ticks. Returns the decision on a call that takes nothing. It is a fallback if the
/// failure policy decided the refund or that call.
fn given_back(question: &Question<'_>, cost: Ticks) -> Result<Decision, Thrown> {
    let storage = question.native("settle")?;
    let refunded = question.give_back(storage, cost)?;
    let key = question.plan.key();
    let step = question.step_at(storage.unix_time(key));
    let look = Step { cost: 0, ..step }.dry();
    let seen = if refunded.fallback {
        storage.take_after(key, &look, refunded.map(|()| None))?
    } else {
        // The tokens were given back, even if the store did not reply with its numbers.
        let (verdict, seen) = (Verdict::Granted, storage.look(key, &look)?);
        seen.map(|seen| Outcome { verdict, ..seen })
    };
    Ok(changed(&question.plan.limit, &look, &seen))
}

/// Returns the decision on a change that was made, from the outcome of a dry step after it. The
/// change was made, even if the bucket is in debt.
pub fn changed(limit: &Limit, look: &Step, seen: &Answer<Outcome>) -> Decision {
    let mut decision = Decision::new(limit, look, &seen.value);
    decision.fallback = seen.fallback;
    if decision.verdict == Verdict::Denied(Denial::Insufficient) {
        decision.verdict = Verdict::Granted;
        decision.retry_after = Some(0);
    }
    decision
}
