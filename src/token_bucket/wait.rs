//! `wait()`, which reserves the next tokens and sleeps until the bucket holds them.

use super::attempt;
use super::bucket::Bucket;
use super::question::{Home, Question};
use super::tokens;
use crate::storage::Storage;
use crate::zend::{Call, Thrown, Zval, system};
use crate::{decision, exceptions};
use rustix::io::Errno;
use rustix::thread::{NanosleepRelativeResult, nanosleep};
use rustix::time::Timespec;
use tokenbucket_core::step::MAX_WAIT;
use tokenbucket_core::{
    Decision, Denial, Outcome, Put, TICKS_PER_SECOND, Ticks, Timestamp, Verdict, boot_clock,
    seconds,
};

/// The longest sleep without a check for signals. A signal that arrives just before a sleep is
/// handled after the sleep.
const NAP: Ticks = TICKS_PER_SECOND / 20;

/// The end of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// The instant was reached.
    ToTheEnd,
    /// An interrupt is pending, such as a signal handler.
    Interrupted,
}

/// Implements `wait(float $timeout, int|float $tokens = 1): TokenBucket\Decision`.
pub fn wait(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 1)?;
    let timeout = patience(call, 1)?;
    let mut question = Question::of(call.this::<Bucket>(), number, 2)?;
    let decision = if let Home::Userland(_) = question.home {
        try_within(&question, timeout)?
    } else {
        question.wait_at_most(timeout);
        take_within(&question)?
    };
    *result = decision::to_object(&question.plan.quota, &decision)?;
    Ok(())
}

/// Returns argument `number`, the longest wait in seconds, as ticks. INF becomes [`MAX_WAIT`].
///
/// # Errors
/// Throws `ValueError` for a negative number or NAN.
pub fn patience(call: &mut Call<'_>, number: u32) -> Result<Ticks, Thrown> {
    let wait = call.float(number)?;
    if wait == f64::INFINITY {
        return Ok(MAX_WAIT);
    }
    seconds::to_ticks(wait).map_err(|error| exceptions::bad_amount(number, error))
}

/// Reserves the tokens and sleeps until the bucket holds them. Returns the denial at once if the
/// tokens would come too late.
fn take_within(question: &Question<'_>) -> Result<Decision, Thrown> {
    let storage = question.native("wait")?;
    let (outcome, fallback) = question.take(storage)?;
    let delay = question.step.debt(outcome.empty_at, outcome.now);
    if !outcome.granted() || delay == 0 {
        return Ok(question.decision((outcome, fallback)));
    }
    let due = storage.now() + delay;
    if until(storage, due) == Slept::Interrupted {
        let give_back = Put::Refund {
            cost: question.step.cost,
            burst: question.step.burst,
            taken: outcome.empty_at,
        };
        storage.give_back(question.plan.key(), &give_back, fallback)?;
        let empty_at = outcome.empty_at.saturating_sub(question.step.cost);
        let denied = Outcome::denied(Denial::Interrupted, empty_at, outcome.now);
        return Ok(question.decision((denied, fallback)));
    }
    // The tokens are there now, and the bucket is empty.
    let now = outcome.empty_at;
    Ok(question.decision((Outcome { now, ..outcome }, fallback)))
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
        if sleep_until(start + retry_after) == Slept::Interrupted {
            return Ok(Decision {
                verdict: Verdict::Denied(Denial::Interrupted),
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

fn sleep_until(end: Timestamp) -> Slept {
    loop {
        let now = boot_clock();
        if now >= end {
            return Slept::ToTheEnd;
        }
        if system::is_interrupted() {
            return Slept::Interrupted;
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
            return Slept::Interrupted;
        }
    }
}
