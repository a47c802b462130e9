//! Runs limiters that are a function over one record. Decisions are exact on every store with
//! compare-and-swap.
//!
//! A limiter is a pure function, `step`. It takes the record and the instant, and returns the
//! verdict and the next record. [`take`] reads the record, runs `step` and swaps the record. If
//! another call has changed the record meanwhile, [`take`] runs `step` again on the changed record.
//! So every grant follows from the record that it replaces.
//!
//! A grant takes two round trips. A denial that changes nothing takes one round trip.

mod memcached;
mod redis;

use gcra::{Ticks, Timestamp, boot_clock};
use stores::remote::back_off::{is_over, pause};
use stores::remote::{Cause, Transport, Visit};

/// The most attempts of a call. A call that loses this many races is denied.
const TRIES: u32 = 64;

pub trait Records: Transport {
    /// Reads the record of `key`. Fails if the store did not reply before the deadline.
    fn read(visit: &Visit<'_, Self>, key: &[u8]) -> Result<Found, Cause>;

    /// Replaces the record of `key` with `next` if it is still `found`. Fails like
    /// [`Records::read`]. It is then unknown whether the record was written.
    fn swap(visit: &Visit<'_, Self>, key: &[u8], found: &Found, next: &Next) -> Swapped;
}

/// The result of a swap: `None` if the record was written, otherwise the record that is there
/// instead.
pub type Swapped = Result<Option<Found>, Cause>;

/// A record as read from a store.
#[derive(Clone, Debug)]
pub struct Found {
    /// The record; `None` if it is missing.
    pub record: Option<Vec<u8>>,
    /// The store's wall clock when the record was read, in ticks since the epoch. It is a whole
    /// number of microseconds.
    pub now: Timestamp,
    /// On memcached, the version and the remaining seconds to live.
    item: (u64, i64),
}

/// The record after a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    pub record: Vec<u8>,
    /// The ticks after which the record means the same as a missing record. A store never shortens
    /// the life of an existing record.
    pub life: Ticks,
}

/// The result of a limiter: the verdict, and the next record if the record changes.
pub type Stepped = (bool, Option<Next>);

/// Runs `step` on the record of `key` and returns the verdict. A call that loses every race is
/// denied.
///
/// `step` receives the record, if there is one, and the store's instant. `step` returns `None` for
/// a record of another shape. Such a record is left unchanged. Fails with [`Cause::Record`] if the
/// record has a shape that `step` does not support. Fails with any other [`Cause`] if the store did
/// not reply before the deadline.
pub fn take<S: Records>(
    visit: &Visit<'_, S>,
    key: &[u8],
    step: impl Fn(Option<&[u8]>, Timestamp) -> Option<Stepped>,
) -> Result<bool, Cause> {
    // Stop halfway to the deadline. A later attempt might get no reply, and its result would be
    // unknown.
    let patience = boot_clock().midpoint(visit.deadline);
    let mut found = S::read(visit, key)?;
    for lost in 1..=TRIES {
        let (granted, next) = step(found.record.as_deref(), found.now).ok_or(Cause::Record)?;
        let Some(next) = next else {
            return Ok(granted);
        };
        let Some(winner) = S::swap(visit, key, &found, &next)? else {
            return Ok(granted);
        };
        if is_over(patience) {
            break;
        }
        found = if pause(lost) && !is_over(patience) {
            // The winner's record has probably changed again during the pause.
            S::read(visit, key)?
        } else {
            winner
        };
    }
    Ok(false)
}
