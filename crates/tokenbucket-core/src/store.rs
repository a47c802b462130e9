//! The changes of a bucket that take no tokens. Every store makes them, besides taking steps.
//!
//! Each operation is atomic over all processes that share the store.

use crate::clock::Ticks;

/// A change of a bucket that takes no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Gives tokens back. The bucket never holds more than `burst` afterwards.
    Refund {
        /// The time in which the returned tokens would have refilled.
        cost: Ticks,
        /// The time in which the whole bucket refills.
        burst: Ticks,
        /// The state right after the take that is undone, on the store's own clock.
        /// [`Put::VOUCHED`] if the caller knows that the tokens may be given back.
        taken: Ticks,
    },
    /// Fills the bucket.
    Reset {
        /// The time in which the whole bucket refills. A remote store keeps the full record for
        /// this time, so that no host restores an earlier state from its denial cache.
        burst: Ticks,
    },
    /// Creates a record that was empty `age` ticks ago (negative: will be empty), unless there is
    /// one.
    Bootstrap {
        /// Ticks since the bucket was empty; at most 2^60 either way.
        age: i64,
    },
}

/// The time for which a record is kept whose burst is not known yet: a day.
pub const UNKNOWN_SPAN: Ticks = 86_400 * crate::TICKS_PER_SECOND;

impl Put {
    /// The state for a refund without a take. It is later than any state, so that the refund is
    /// worth its whole cost.
    pub const VOUCHED: Ticks = Ticks::MAX;

    /// Returns a refund that the caller vouches for.
    #[must_use]
    pub const fn refund(cost: Ticks, burst: Ticks) -> Self {
        Self::Refund {
            cost,
            burst,
            taken: Self::VOUCHED,
        }
    }

    /// Returns how much of `cost` is still missing at `now` because of the take that left the state
    /// `taken`. This is at most the time from full to `taken`.
    ///
    /// A full bucket loses the tokens that time would add. Without the take, the bucket would have
    /// lost that much more. Giving back the whole cost would grant that part a second time. `now`
    /// must not be before any step that the bucket has taken since. So the store reads it when it
    /// executes the give-back.
    ///
    /// Worked example: capacity 10, one token a second. A take of 10 at second 100 leaves `taken`
    /// at 100. At second 103 the bucket would be full with the tokens, and holds 3 without them. So
    /// 7 are missing because of the take. At second 110 none is missing.
    #[must_use]
    pub fn worth(cost: Ticks, burst: Ticks, taken: Ticks, now: Ticks) -> Ticks {
        cost.min(taken.saturating_sub(now.saturating_sub(burst)))
    }

    /// Returns `empty_at` after a refund at `now`. It moves back by `cost`, but not beyond full,
    /// and never forward.
    #[must_use]
    pub fn refunded(empty_at: Ticks, now: Ticks, cost: Ticks, burst: Ticks) -> Ticks {
        let full = now.saturating_sub(burst);
        empty_at.min(empty_at.saturating_sub(cost).max(full))
    }
}

/// Returns the state that was empty `age` ticks before `now`. Ages are at most 2^60, so the result
/// stays in range.
#[must_use]
pub fn empty_at(now: Ticks, age: i64) -> Ticks {
    now.saturating_add_signed(age.saturating_neg())
}
