//! The rules that a bucket is judged by: its quota and the allowances.
//!
//! The allowances are fixed before the judge reads the log. Each one weakens the verdict, so there
//! are few: one tick for each grant, because stores count time in ticks; the difference between
//! clocks; and the evictions that the limiter counted. The verdict includes their sum.

use crate::call::{Nanos, Tokens};

/// The capacity and rate of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The most tokens that the bucket holds.
    pub capacity: Tokens,
    /// The [`Tokens`] added in a nanosecond.
    pub rate: Tokens,
}

impl Quota {
    /// Converts a capacity in thousandths of a token and a rate in thousandths of a token a second.
    #[must_use]
    pub fn from_thousandths(capacity: u64, rate: u64) -> Self {
        Self {
            capacity: Tokens::from(capacity) * 1_000_000_000,
            rate: Tokens::from(rate),
        }
    }

    /// Returns the tokens that the rate adds in `time`.
    #[must_use]
    pub fn refill(&self, time: Nanos) -> Tokens {
        self.rate * Tokens::from(time)
    }

    /// Returns the quota of `times` buckets together.
    #[must_use]
    pub fn times(&self, times: u32) -> Self {
        let times = Tokens::from(times);
        Self {
            capacity: self.capacity * times,
            rate: self.rate * times,
        }
    }
}

/// The allowances: how far a limiter may differ from an exact one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The store's unit of time. Each grant may be wrong by this much.
    pub tick: Nanos,
    /// The greatest difference between the clocks that decide.
    pub skew: Nanos,
    /// The time for which a call of unknown outcome may still take effect after its caller's death
    /// or error.
    pub linger: Nanos,
    /// The time for which a call may have waited for the bucket after it read the clock.
    pub wait: Nanos,
    /// The greatest age of an entry of the denial cache.
    pub hint: Nanos,
    /// The number of buckets of the quota under one name: 1, unless hosts fall back to their own
    /// buckets. If it is greater, denials are not judged: a store may charge a call and lose the
    /// reply, and then the fallback may deny the call.
    pub buckets: u32,
    /// The sum of the tokens that evicted buckets lacked.
    pub evicted: Tokens,
}

impl Rules {
    /// No allowance.
    pub const EXACT: Self = Self {
        tick: 0,
        skew: 0,
        linger: 0,
        wait: 0,
        hint: 0,
        buckets: 1,
        evicted: 0,
    };
}
