//! Limiters of one step over one record, exact on every store that can compare and swap.
//!
//! A limiter is one pure function: from the record and the instant to the verdict and the next record.
//! [`take`] reads the record, runs the step and swaps the record. If another call was faster, it runs
//! the step again on the record of that call. So every grant follows from the record that it replaces.
//!
//! A grant is two round trips, a denial that changes nothing is one.

mod memcached;
mod redis;

use tokenbucket_core::remote::back_off::{is_over, pause};
use tokenbucket_core::remote::{Cause, Transport};
use tokenbucket_core::{Ticks, boot_clock};

/// A call that has lost so many races is denied.
const TRIES: u32 = 64;

/// A store of records.
pub trait Records: Transport {
    /// Reads the record of `key`.
    ///
    /// # Errors
    /// If the store did not answer before `deadline`.
    fn read(&self, key: &[u8], deadline: Ticks) -> Result<Found, Cause>;

    /// Writes `next` over the record of `key` if that is still `found`.
    ///
    /// # Errors
    /// As [`Records::read`]; whether the store has written is unknown then.
    fn swap(&self, key: &[u8], found: &Found, next: &Next, deadline: Ticks) -> Swapped;
}

/// `None` if written, else the record that is there instead.
pub type Swapped = Result<Option<Found>, Cause>;

/// A record as a store holds it.
#[derive(Clone, Debug)]
pub struct Found {
    /// `None` if there is no record.
    pub record: Option<Vec<u8>>,
    /// The store's wall clock when it was read, in ticks since the epoch; whole microseconds.
    pub now: Ticks,
    /// On memcached, the version and the seconds that are left.
    item: (u64, i64),
}

/// The record after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The new record.
    pub record: Vec<u8>,
    /// The ticks after which the record means the same as a missing one. A store never shortens the life
    /// that a record has.
    pub life: Ticks,
}

/// The result of a step: the verdict, and the next record unless that stays as it is.
pub type Stepped = (bool, Option<Next>);

/// Runs `step` on the record of `key`. Returns the verdict; a call that loses race after race is denied.
///
/// `step` gets the record, if there is one, and the store's instant. It returns `None` for a record that
/// is not of its shape; that record is left alone.
///
/// # Errors
/// [`Cause::Record`] if the record is not of the step's shape; any other [`Cause`] if the store did not
/// answer before `deadline`.
pub fn take<S: Records>(
    store: &S,
    key: &[u8],
    step: impl Fn(Option<&[u8]>, Ticks) -> Option<Stepped>,
    deadline: Ticks,
) -> Result<bool, Cause> {
    // A try that begins later may have no answer by the deadline, and its fate would be unknown.
    let patience = boot_clock().midpoint(deadline);
    let mut found = store.read(key, deadline)?;
    for lost in 1..=TRIES {
        let (granted, next) = step(found.record.as_deref(), found.now).ok_or(Cause::Record)?;
        let Some(next) = next else {
            return Ok(granted);
        };
        let Some(winner) = store.swap(key, &found, &next, deadline)? else {
            return Ok(granted);
        };
        if is_over(patience) {
            break;
        }
        found = if pause(lost) && !is_over(patience) {
            // The winner's record has probably changed again.
            store.read(key, deadline)?
        } else {
            winner
        };
    }
    Ok(false)
}
