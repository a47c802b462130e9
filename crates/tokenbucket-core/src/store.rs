//! The changes of a bucket that take no tokens. Every store makes them, and takes steps besides.
//!
//! Each operation is atomic over all processes that share the store.

use crate::clock::Ticks;

/// A change of a bucket that takes no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Give back what `cost` is the price of; the bucket never holds more than `burst`.
    Refund {
        /// The time in which the returned tokens would have refilled.
        cost: Ticks,
        /// The time in which the whole bucket refills.
        burst: Ticks,
        /// The state right after the take that is undone, on the store's own clock;
        /// [`Put::VOUCHED`] when the caller knows that the tokens may be given back.
        taken: Ticks,
    },
    /// Fill the bucket.
    Reset {
        /// The time in which the whole bucket refills; a store that others try to heal keeps a full
        /// record for so long.
        burst: Ticks,
    },
    /// Create a record that was, or will be, empty `age` ticks ago (negative: from now), unless there is one.
    Bootstrap {
        /// Ticks since the bucket was empty; at most 2^60 either way.
        age: i64,
    },
}

/// How long a record is kept whose burst nobody has named yet: a day.
pub const UNKNOWN_SPAN: Ticks = 86_400 * crate::TICKS_PER_SECOND;

impl Put {
    /// The state of no take: later than any, so that a refund is worth its whole cost.
    pub const VOUCHED: Ticks = Ticks::MAX;

    /// A refund that the caller vouches for.
    #[must_use]
    pub const fn refund(cost: Ticks, burst: Ticks) -> Self {
        Self::Refund {
            cost,
            burst,
            taken: Self::VOUCHED,
        }
    }

    /// Returns how much of `cost` is still missing at `now` because of the take that left the state
    /// `taken`: at most the time from full to `taken`.
    ///
    /// A full bucket loses what time adds. Without the take it would have lost that much more, and a
    /// give-back of the whole cost would grant it a second time. `now` must not be before any step
    /// that the bucket has taken since, so the store reads it when it executes the give-back.
    ///
    /// Worked example: capacity 10, one token a second. A take of 10 at second 100 leaves `taken` at
    /// 100. At second 103 the bucket would be full with the tokens, and holds 3 without them: 7 are
    /// missing because of the take. At second 110 nothing is.
    #[must_use]
    pub fn worth(cost: Ticks, burst: Ticks, taken: Ticks, now: Ticks) -> Ticks {
        cost.min(taken.saturating_sub(now.saturating_sub(burst)))
    }

    /// `empty_at` after a refund at `now`: back by `cost`, not below full, never forward.
    #[must_use]
    pub fn refunded(empty_at: Ticks, now: Ticks, cost: Ticks, burst: Ticks) -> Ticks {
        let full = now.saturating_sub(burst);
        empty_at.min(empty_at.saturating_sub(cost).max(full))
    }
}

/// The state that `age` names at `now`. Ages are at most 2^60, so this stays in range.
#[must_use]
pub fn empty_at(now: Ticks, age: i64) -> Ticks {
    now.saturating_add_signed(age.saturating_neg())
}
