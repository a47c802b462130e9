//! What a bucket's home must be able to do.

use crate::clock::Ticks;
use crate::key::Key;
use crate::step::{Outcome, Step};

/// A home of buckets. Each operation is atomic over all processes that share the store.
pub trait Store {
    /// How the store itself can fail. A denial is no failure.
    type Error;

    /// Takes one step on one bucket.
    ///
    /// `first` is the state that a bucket without a record starts from instead of full. A record
    /// found meanwhile wins.
    ///
    /// # Errors
    /// When the store cannot tell.
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>)
    -> Result<Outcome, Self::Error>;

    /// Changes a bucket without asking for tokens.
    ///
    /// # Errors
    /// When the store cannot do it.
    fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Self::Error>;
}

/// A change of a bucket that takes no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Give back what `cost` is the price of; the bucket never holds more than `burst`.
    Refund {
        /// The time in which the returned tokens would have refilled.
        cost: Ticks,
        /// The time in which the whole bucket refills.
        burst: Ticks,
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
