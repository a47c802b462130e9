//! The result of one call, in tokens and ticks.
//!
//! A decision is computed from the integers of an [`Outcome`], without another call to the store.

use crate::clock::{TICKS_PER_SECOND, Ticks};
use crate::limit::Limit;
use crate::refill::Refill;
use crate::step::{Denial, Outcome, Step, Verdict};

/// The wait after a denial because of contention or a full table: one millisecond in ticks. By
/// then, the competing calls have finished. In a full table, some bucket may have become full, so
/// that its slot is available.
const CROWDED_RETRY: Ticks = 1_000_000;

/// The wait after a denial by a store that failed: one second in ticks. A failed store is tried
/// again every 0.1 to 4 seconds.
const UNAVAILABLE_RETRY: Ticks = TICKS_PER_SECOND;

/// The result of one call: allowed or denied, with the numbers that callers need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The verdict: granted, or the reason for the denial.
    pub verdict: Verdict,
    /// The whole tokens that are left. Negative if the bucket is in debt.
    pub remaining: i64,
    /// The ticks until the same call would succeed, if no other call took tokens. `None` means
    /// never.
    pub retry_after: Option<Ticks>,
    /// The ticks until the bucket is full, if no call took tokens.
    pub reset_after: Ticks,
    /// True if the failure policy decided instead of the store.
    pub fallback: bool,
}

/// Returns the ticks until `step` would be granted after `outcome`, if no other call took tokens.
/// Returns 0 if the step was granted, and `None` if it never is.
pub fn retry_after(step: &Step, outcome: &Outcome) -> Option<Ticks> {
    let retry = || step.retry_after(outcome.empty_at, outcome.now);
    match outcome.verdict {
        Verdict::Granted => Some(0),
        Verdict::Denied(denial) => match denial {
            Denial::Insufficient | Denial::BelowFloor | Denial::LockedOut | Denial::Interrupted => {
                Some(retry())
            }
            Denial::ExceedsCapacity => None,
            Denial::Contended | Denial::TableFull => Some(retry().max(CROWDED_RETRY)),
            Denial::Unavailable => Some(UNAVAILABLE_RETRY),
        },
    }
}

impl Decision {
    /// Computes the decision of a store from the `outcome` of `step` under `limit`. For a step with
    /// a floor, the verdict must come from [`Step::reason`].
    pub fn new(limit: &Limit, step: &Step, outcome: &Outcome) -> Self {
        // The store may have decided in another window than that of this host's clock.
        let moved;
        let step = if let Refill::Windows(_) = step.refill {
            moved = step.at(outcome.now);
            &moved
        } else {
            step
        };
        Self {
            verdict: outcome.verdict,
            remaining: remaining(limit, step, outcome),
            retry_after: retry_after(step, outcome),
            reset_after: step.reset_after(outcome.empty_at, outcome.now),
            fallback: false,
        }
    }

    /// Reports whether the call was denied because of contention, a full table or a failed store.
    /// Such a denial says nothing about the bucket, and the next call may succeed soon.
    pub const fn is_beside_tokens(&self) -> bool {
        matches!(
            self.verdict,
            Verdict::Denied(Denial::Contended | Denial::TableFull | Denial::Unavailable)
        )
    }

    /// Reports whether the call was granted.
    pub const fn allowed(&self) -> bool {
        matches!(self.verdict, Verdict::Granted)
    }
}

/// Returns [`Decision::remaining`] after `outcome` of `step` under `limit`.
pub fn remaining(limit: &Limit, step: &Step, outcome: &Outcome) -> i64 {
    if outcome.verdict == Verdict::Denied(Denial::TableFull) {
        // The table has no place for the bucket, so no token can be taken.
        return 0;
    }
    let debt = step.debt(outcome.empty_at, outcome.now);
    if debt > 0 {
        return i64::try_from(limit.tokens_owed(debt)).map_or(i64::MIN, i64::wrapping_neg);
    }
    let tokens = limit.tokens(step.available(outcome.empty_at, outcome.now));
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
