//! The changes of a bucket that take no tokens. Every store makes these changes and also runs
//! steps.
//!
//! Each operation is atomic over all processes that share the store.

use crate::clock::{Ticks, Timestamp};
use crate::refill::{Refill, Windows};
use crate::step::Step;

/// A change of a bucket that takes no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Gives tokens back. The bucket never holds more than its capacity afterwards.
    Refund(Refund),
    /// Gives tokens back to one window, up to a full bucket. Changes nothing of other windows.
    Uncount {
        /// The ticks that the returned tokens cost.
        cost: Ticks,
        windows: Windows,
        /// True if the change undoes a take in this window. Otherwise a store with a clock of its
        /// own chooses the window by that clock.
        is_undo: bool,
    },
    /// Moves the state of a window forward to the start of a later window. So no window before that
    /// start grants a token, and the window that starts there is full.
    Advance {
        /// The start of the later window.
        until: Timestamp,
    },
    /// Fills the bucket.
    Reset {
        /// The span: the time in which an empty bucket becomes full. A remote store keeps the full
        /// record for this time, so that no host restores an earlier state from its denial cache.
        span: Ticks,
    },
    /// Creates a record that was empty `age` ticks ago, unless the bucket has a record. With a
    /// negative age, the bucket will be empty in the future.
    Bootstrap {
        /// The ticks since the bucket was empty, between -2^60 and 2^60.
        age: i64,
        /// The span: the time in which an empty bucket becomes full. [`UNKNOWN_SPAN`] if the caller
        /// does not know it.
        span: Ticks,
    },
    /// Moves the state forward to the instant `age` ticks ago. A state that is already later does
    /// not change, so two equal changes at one instant have the effect of one. A bucket without a
    /// record counts as full.
    Raise {
        /// The ticks since the bucket was empty, between -2^60 and 2^60.
        age: i64,
        /// The span: the time in which an empty bucket becomes full.
        span: Ticks,
    },
}

/// The tokens that a change gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refund {
    /// The cost: the time in which the returned tokens would have refilled.
    pub cost: Ticks,
    /// The span: the time in which an empty bucket becomes full.
    pub span: Ticks,
    /// The state right after the take that is undone, on the store's own clock. It is
    /// [`Put::VOUCHED`] if the whole cost is to be given back.
    pub taken: Timestamp,
    /// The most ticks that are given back while the bucket is in debt, if other calls took tokens
    /// after the take that is undone.
    pub in_debt: Ticks,
}

impl Refund {
    /// Returns the state at `now` of a bucket that was in the state `state`. `now` is an instant
    /// that was read after `state`; see [`Put::worth`].
    pub fn after(&self, state: Timestamp, now: Timestamp) -> Timestamp {
        let costs = (self.cost, self.in_debt);
        let cost = Put::worth(costs, self.span, self.taken, state, now);
        Put::refunded(state, now, cost, self.span)
    }
}

/// The span, in ticks, of a record that was created for a bucket whose limit is unknown. This is a
/// leap year. After this time, the record counts as full.
pub const UNKNOWN_SPAN: Ticks = 366 * 86_400 * crate::TICKS_PER_SECOND;

impl Put {
    /// The state for a refund that undoes no particular take. This state is later than any real
    /// state, so that the refund gives back its whole cost.
    pub const VOUCHED: Timestamp = Timestamp::MAX;

    /// Returns a refund that gives back its whole cost.
    pub const fn refund(cost: Ticks, span: Ticks) -> Self {
        Self::give_back(cost, span, Self::VOUCHED)
    }

    /// Returns the change that undoes a take that left the state `taken`, and needed all its tokens
    /// at once.
    pub const fn give_back(cost: Ticks, span: Ticks, taken: Timestamp) -> Self {
        Self::Refund(Refund {
            cost,
            span,
            taken,
            in_debt: cost,
        })
    }

    /// Returns the change that undoes a granted step, which left the state `taken`.
    pub fn undo(step: &Step, taken: Timestamp) -> Self {
        match step.refill {
            Refill::Windows(windows) => Self::Uncount {
                cost: step.cost,
                // A take that moved the state to the end of a window was in that window.
                windows: windows.at(taken.saturating_sub(1)),
                is_undo: true,
            },
            _ => Self::give_back(step.cost, step.span, taken),
        }
    }

    /// Returns the change that undoes a reservation that left the state `taken`.
    pub const fn cancel(cost: Ticks, span: Ticks, taken: Timestamp) -> Self {
        Self::Refund(Refund {
            cost,
            span,
            taken,
            in_debt: 0,
        })
    }

    /// Returns the state after the change of a bucket in the state `found`. `now` is an instant
    /// that was read after `found`. A state is `None` if the bucket has no record.
    pub fn apply(&self, found: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        match *self {
            Self::Reset { .. } => None,
            Self::Refund(refund) => found.map(|state| refund.after(state, now)),
            Self::Bootstrap { age, .. } => found.or(Some(empty_at(now, age))),
            Self::Raise { age, .. } => found.max(Some(empty_at(now, age))),
            Self::Advance { until } => found.max(Some(until)),
            Self::Uncount { cost, windows, .. } => found.map(|state| windows.refunded(state, cost)),
        }
    }

    /// Reports whether the change undoes a take. Only the store that granted the take can undo it.
    pub fn is_undo(&self) -> bool {
        match *self {
            Self::Refund(refund) => refund.taken != Self::VOUCHED,
            Self::Uncount { is_undo, .. } => is_undo,
            _ => false,
        }
    }

    /// Returns the part of `cost`, in ticks, that may be given back at `now` for the take that left
    /// the state `taken`. The bucket is now in the state `empty_at`.
    ///
    /// A full bucket gains no tokens. Without the take, the bucket would have been full earlier,
    /// and would have gained fewer tokens since. Giving back the whole cost would grant those
    /// tokens a second time. So the result is at most the time from the state of a full bucket to
    /// `taken`. `now` must not be before any step that ran on the bucket since the take. So the
    /// store reads the clock when it runs the give-back.
    ///
    /// If the bucket is in debt, later calls have been granted tokens that refill in the future,
    /// each at an instant of its own. Two calls must not get their tokens at one instant. So the
    /// cost of the calls after `taken` is subtracted from the part that is given back, and the
    /// remaining part is at most `in_debt`.
    ///
    /// If other calls took tokens after a reservation, its cancel gives back nothing while the
    /// bucket is in debt. The state does not show the cancels of other reservations, and each of
    /// them hides as many tokens that were taken after `taken`. The state does not show the
    /// capacities of the later calls either. A call with a smaller capacity would get tokens at an
    /// instant at which it already has a reservation.
    ///
    /// A take without a wait has no such limit, because all such takes that can be undone at one
    /// instant cost at most the capacity.
    ///
    /// Worked example: capacity 10, one token a second. A take of 10 at second 100 leaves `taken`
    /// at 100. At second 103 the bucket holds 3 tokens. Without the take, it would be full. So 7
    /// are missing because of the take. At second 110 no token is missing.
    ///
    /// Worked example: capacity 10, one token a second. A batch takes all tokens at second 100.
    /// Then another call reserves a token for second 101. The batch gives back 9 tokens. With 10,
    /// the bucket would be full at second 101, and 11 tokens would be due at this instant.
    ///
    /// Worked example: capacity 1, one token a second, and reservations for the seconds 1, 2 and 3.
    /// Two tokens were reserved after the first. So cancelling the first gives nothing back.
    /// Cancelling the third gives back its token.
    pub fn worth(
        (cost, in_debt): (Ticks, Ticks),
        span: Ticks,
        taken: Timestamp,
        empty_at: Timestamp,
        now: Timestamp,
    ) -> Ticks {
        let last = empty_at == taken || taken == Self::VOUCHED;
        let free = if last || empty_at <= now {
            cost
        } else {
            let later = empty_at.saturating_since(taken);
            cost.saturating_sub(later).min(in_debt)
        };
        let missing = taken.saturating_since(now.saturating_sub(span));
        free.min(missing)
    }

    /// Returns the state after a refund at `now`. The refund moves `empty_at` back by `cost`, but
    /// not beyond a full bucket, and never forward.
    pub fn refunded(empty_at: Timestamp, now: Timestamp, cost: Ticks, span: Ticks) -> Timestamp {
        let full = now.saturating_sub(span);
        empty_at.min(empty_at.saturating_sub(cost).max(full))
    }
}

/// Returns the state of a bucket that was empty `age` ticks before `now`. Ages are at most 2^60, so
/// the result stays in range.
pub fn empty_at(now: Timestamp, age: i64) -> Timestamp {
    now.saturating_add_signed(age.saturating_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_names_its_take_is_an_undo() {
        let undo = |taken| {
            let (cost, span, in_debt) = (1, 10, 0);
            let refund = Refund {
                cost,
                span,
                taken,
                in_debt,
            };
            Put::Refund(refund).is_undo()
        };
        assert!(undo(Timestamp(5)) && !undo(Put::VOUCHED));
        let windows = Windows::new(Timestamp(0), [60; 3]);
        let uncount = |is_undo| Put::Uncount {
            cost: 1,
            windows,
            is_undo,
        };
        assert!(uncount(true).is_undo() && !uncount(false).is_undo());
        assert!(!Put::Reset { span: 10 }.is_undo());
        assert_eq!(UNKNOWN_SPAN, 31_622_400 * crate::TICKS_PER_SECOND);
    }

    #[test]
    fn the_worked_examples_of_give_backs_hold() {
        let worth = |cost, in_debt, taken, empty_at, now| {
            let (taken, empty_at) = (Timestamp(taken), Timestamp(empty_at));
            Put::worth((cost, in_debt), 10, taken, empty_at, Timestamp(now))
        };
        assert_eq!(worth(10, 10, 100, 100, 103), 7);
        assert_eq!(worth(10, 10, 100, 100, 110), 0);
        assert_eq!(worth(10, 10, 100, 101, 100), 9);
        // Reservations for the seconds 101, 102 and 103.
        assert_eq!(worth(1, 0, 101, 103, 100), 0);
        assert_eq!(worth(1, 0, 103, 103, 100), 1);
        // Later takes do not count without a debt, or without a take to compare with.
        assert_eq!(worth(4, 0, 98, 100, 103), 4);
        assert_eq!(worth(4, 4, Put::VOUCHED.0, 120, 103), 4);
    }

    #[test]
    fn a_refund_fills_a_bucket_at_most() {
        let refunded =
            |empty_at, cost| Put::refunded(Timestamp(empty_at), Timestamp(103), cost, 10);
        assert_eq!(refunded(100, 3), Timestamp(97));
        assert_eq!(refunded(100, 30), Timestamp(93));
        assert_eq!(refunded(80, 3), Timestamp(80), "it is full already");
    }

    #[test]
    fn an_age_moves_the_instant_back() {
        assert_eq!(empty_at(Timestamp(100), 30), Timestamp(70));
        assert_eq!(empty_at(Timestamp(100), -30), Timestamp(130));
    }
}
