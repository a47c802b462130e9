//! `wait()`: takes tokens, and sleeps until the bucket holds them.

use super::bucket::Bucket;
use super::question::{Home, Question};
use super::{attempt, tokens};
use crate::zend::{Call, Thrown, Zval, system};
use crate::{decision, exceptions};
use rustix::io::Errno;
use rustix::thread::{NanosleepRelativeResult, nanosleep};
use rustix::time::Timespec;
use tokenbucket_core::clock::TICKS_PER_MICROSECOND;
use tokenbucket_core::{Decision, Denial, TICKS_PER_SECOND, Ticks, Verdict, boot_clock, seconds};

/// The longest sleep without a check for signals. A signal that arrives just before a sleep is
/// noticed after it.
const NAP: Ticks = TICKS_PER_SECOND / 20;

/// `wait(float $timeout, int|float $tokens = 1): TokenBucket\Decision`
pub fn wait(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 1)?;
    let timeout = call.float(1)?;
    let timeout = seconds::to_ticks(timeout).map_err(|error| exceptions::bad_amount(1, error))?;
    let question = Question::of(call.this::<Bucket>(), number, 2)?;
    *result = decision::to_object(&question.plan.quota, &decide_within(&question, timeout)?)?;
    Ok(())
}

/// Takes the tokens. Sleeps until the bucket holds them, but at most `left` ticks in all. Returns
/// the denial at once if the wait would exceed the rest of `left`.
///
/// The rounding of the time per token is forgiven, and at least a microsecond. So a caller that
/// waits a minute gets the tokens of a minute.
fn decide_within(question: &Question<'_>, mut left: Ticks) -> Result<Decision, Thrown> {
    let quota = &question.plan.quota;
    loop {
        let decision = attempt::decide(question)?;
        let forgiven = |wait| quota.rounding(wait).max(TICKS_PER_MICROSECOND);
        let patience = decision
            .retry_after
            .filter(|&wait| wait <= left.saturating_add(forgiven(wait)));
        let (false, Some(retry_after)) = (decision.allowed(), patience) else {
            return Ok(decision);
        };
        let Some(slept) = pass(question, retry_after) else {
            return Ok(Decision {
                verdict: Verdict::Denied(Denial::Interrupted),
                ..decision
            });
        };
        left = left.saturating_sub(slept);
    }
}

/// Advances the storage's clock by `ticks`, or sleeps. Returns the ticks that have passed, at least
/// `ticks`. Returns `None` if an interrupt is pending, such as a signal handler.
fn pass(question: &Question<'_>, ticks: Ticks) -> Option<Ticks> {
    if let Home::Native(storage) = &question.home
        && storage.advance(ticks)
    {
        return Some(ticks);
    }
    sleep(ticks)
}

fn sleep(ticks: Ticks) -> Option<Ticks> {
    let start = boot_clock();
    // This cannot overflow, because instants and spans are limited.
    let end = start + ticks;
    loop {
        let now = boot_clock();
        if now >= end {
            return Some(now - start);
        }
        if system::is_interrupted() {
            return None;
        }
        let nap = (end - now).min(NAP);
        // The value fits because it is at most a twentieth of a second.
        let request = Timespec {
            tv_sec: 0,
            tv_nsec: nap.cast_signed(),
        };
        if let NanosleepRelativeResult::Err(error) = nanosleep(&request)
            && error != Errno::INTR
        {
            return None;
        }
    }
}
