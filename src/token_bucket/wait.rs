//! `wait()`, which reserves the next tokens and sleeps until the bucket holds them.

use super::question::{Home, Question};
use super::{Bucket, attempt};
use crate::storage::{Storage, Undo};
use crate::{decision, tokens};
use gcra::{Decision, Denial, MAX_WAIT, Outcome, Put, Step, Ticks, Timestamp, Verdict, boot_clock};
use std::time::Duration;
use zend::{Call, Slept, Thrown, Zval, invoke, sleep, throw};

/// Implements `wait(float $timeout, int|float $tokens = 1): TokenBucket\Decision`.
pub fn wait(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 1)?;
    let timeout = patience(call, 1)?;
    let mut question = Question::of(call.this::<Bucket>(), number, 2)?;
    question.refuse_windows("wait()")?;
    let decision = if let Home::Userland(_) = question.home {
        try_within(&question, timeout)?
    } else {
        question.wait_at_most(timeout);
        take_within(&question)?
    };
    *result = decision::to_object(&question.plan.limit, &decision);
    Ok(())
}

/// Returns argument `number`, the longest wait in seconds, as ticks. INF becomes [`MAX_WAIT`].
/// Throws `ValueError` for a negative number or NAN.
pub fn patience(call: &mut Call<'_>, number: u32) -> Result<Ticks, Thrown> {
    let wait = call.float(number)?;
    if wait.is_nan() {
        return Err(throw::argument_value(number, "must not be NAN"));
    }
    if wait == f64::INFINITY {
        return Ok(MAX_WAIT);
    }
    // Only a negative number is still invalid. Negative infinity becomes finite, so that the
    // message calls it negative.
    let wait = wait.max(f64::MIN);
    tokens::ticks(wait, number)
}

/// Reserves the tokens and sleeps until the bucket holds them. Returns the denial at once if the
/// tokens would come too late.
fn take_within(question: &Question<'_>) -> Result<Decision, Thrown> {
    let storage = question.native("wait")?;
    let taken = question.take(storage)?;
    let (outcome, fallback) = (taken.value, taken.fallback);
    let delay = question.step.debt(outcome.empty_at, outcome.now);
    if !outcome.granted() || delay == 0 {
        return Ok(question.decision(&taken));
    }
    let due = storage.now() + delay;
    let rested = rest(|| until(storage, due));
    if let Ok(true) = rested {
        // The tokens are there now, and the bucket is empty.
        let now = outcome.empty_at;
        return Ok(question.decision(&taken.map(|outcome| Outcome { now, ..outcome })));
    }
    let (cost, span) = (question.step.cost, question.step.span);
    let put = Put::cancel(cost, span, outcome.empty_at);
    let cancel = Undo::new(storage, question.plan.key(), put, fallback);
    throw::aside(|| cancel.give_back())?;
    rested?;
    // If other calls have taken tokens during the sleep, the cancel gives back less. So the state
    // is read again.
    let look = Step::new(0, span).dry();
    let mut seen = storage.take(question.plan.key(), &look, None)?;
    seen.value = Outcome::denied(Denial::Interrupted, seen.value.empty_at, seen.value.now);
    seen.fallback |= fallback;
    Ok(question.decision(&seen))
}

/// Takes the tokens from a userland storage, which has no reservations. Tries again whenever the
/// tokens may be there, for at most `left` ticks in all.
fn try_within(question: &Question<'_>, mut left: Ticks) -> Result<Decision, Thrown> {
    loop {
        let decision = attempt::decide(question)?;
        let patience = decision
            .retry_after
            .filter(|&retry_after| retry_after <= left);
        let (false, Some(retry_after)) = (decision.allowed(), patience) else {
            return Ok(decision);
        };
        let start = boot_clock();
        if !rest(|| sleep_until(start + retry_after))? {
            // The userland storage does not report its state. If no other call took tokens, these
            // times have become shorter by the sleep.
            let slept = boot_clock() - start;
            return Ok(Decision {
                verdict: Verdict::Denied(Denial::Interrupted),
                retry_after: Some(retry_after.saturating_sub(slept)),
                reset_after: decision.reset_after.saturating_sub(slept),
                ..decision
            });
        }
        left = left.saturating_sub(boot_clock() - start);
    }
}

/// Sleeps until the storage's clock reaches `due`. A clock that does not advance by itself is set
/// to `due`.
pub fn until(storage: &dyn Storage, due: Timestamp) -> Slept {
    if storage.advance(due.saturating_since(storage.now())) {
        return Slept::ToTheEnd;
    }
    sleep_until(due)
}

/// Sleeps until the boot clock reaches `end`.
pub fn sleep_until(end: Timestamp) -> Slept {
    sleep::sleep(|| Duration::from_nanos(end.saturating_since(boot_clock())))
}

/// Repeats a sleep that an interrupt other than a signal ends, after the handler of the interrupt.
/// Returns false if a signal or the time limit ended the sleep. The handler of the signal runs at
/// once, because it would otherwise run, and could throw, while PDO cancels the reservation.
pub fn rest(sleep: impl Fn() -> Slept) -> Result<bool, Thrown> {
    loop {
        match sleep() {
            Slept::ToTheEnd => return Ok(true),
            Slept::Interrupted if invoke::interrupt_handler()? => {}
            Slept::Interrupted => return Ok(false),
            Slept::Signalled => return invoke::interrupt_handler().map(|_| false),
        }
    }
}
