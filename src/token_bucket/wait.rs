//! `wait()`: take tokens, sleeping until they are there.

use super::{Bucket, Source, ask, tokens};
use crate::storage::Backend;
use crate::zend::{Call, Object, Thrown, Zval, system};
use crate::{decision, exceptions};
use rustix::io::Errno;
use rustix::thread::{NanosleepRelativeResult, nanosleep};
use rustix::time::Timespec;
use tokenbucket_core::clock::BootClock;
use tokenbucket_core::{Clock, TICKS_PER_SECOND, Ticks, seconds};

/// A signal that arrives just before a sleep is noticed after this long.
const NAP: Ticks = TICKS_PER_SECOND / 20;

/// `wait(float $timeout, int|float $tokens = 1): TokenBucket\Decision`
pub fn wait(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens(call, 1)?;
    let timeout = call.float(1)?;
    let mut left = seconds::to_ticks(timeout).map_err(|error| exceptions::bad_amount(1, error))?;
    let bucket = call.this::<Bucket>();
    let (quota, decision) = loop {
        let (quota, decision) = ask::decide(bucket, number, 2)?;
        let patience = decision
            .retry_after
            .filter(|&retry_after| retry_after <= left);
        let (false, Some(retry_after)) = (decision.allowed(), patience) else {
            break (quota, decision);
        };
        let Some(slept) = pass(bucket, retry_after)? else {
            break (quota, ask::interrupted(decision));
        };
        left = left.saturating_sub(slept);
    };
    *result = decision::to_object(&quota, &decision)?;
    Ok(())
}

/// Lets `ticks` pass on the storage's clock; how many passed at least. `None` when PHP must run
/// something first.
fn pass(bucket: &Object<Bucket>, ticks: Ticks) -> Result<Option<Ticks>, Thrown> {
    if let Backend::Native(native) = Backend::of(Source::of(bucket).storage()?)
        && native.advance(ticks)
    {
        return Ok(Some(ticks));
    }
    Ok(sleep(ticks))
}

fn sleep(ticks: Ticks) -> Option<Ticks> {
    let clock = BootClock;
    let start = clock.now();
    // An instant and a span.
    let end = start + ticks;
    loop {
        let now = clock.now();
        if now >= end {
            return Some(now - start);
        }
        if system::is_interrupted() {
            return None;
        }
        let nap = (end - now).min(NAP);
        // At most a twentieth of a second.
        let request = Timespec {
            tv_sec: 0,
            tv_nsec: nap.cast_signed(),
        };
        match nanosleep(&request) {
            NanosleepRelativeResult::Ok
            | NanosleepRelativeResult::Interrupted(_)
            | NanosleepRelativeResult::Err(Errno::INTR) => {}
            NanosleepRelativeResult::Err(_) => return None,
        }
    }
}
