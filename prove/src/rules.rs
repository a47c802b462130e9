//! What a bucket is judged by: its quota, and what is allowed on top.
//!
//! An allowance is written down before the judge sees the log, and each one weakens the verdict, so
//! there are few: a tick a grant, for stores count time in ticks; the clocks' disagreement; the
//! evictions that the limiter itself counted. What they add up to is part of the verdict.

use crate::call::{Nanos, Tokens};

/// Capacity and rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Most tokens the bucket holds.
    pub capacity: Tokens,
    /// [`Tokens`] added a nanosecond.
    pub rate: Tokens,
}

impl Quota {
    /// From thousandths of a token, and thousandths of a token a second.
    #[must_use]
    pub fn from_thousandths(capacity: u64, rate: u64) -> Self {
        Self {
            capacity: Tokens::from(capacity) * 1_000_000_000,
            rate: Tokens::from(rate),
        }
    }

    /// What the rate adds in this time.
    #[must_use]
    pub fn refill(&self, time: Nanos) -> Tokens {
        self.rate * Tokens::from(time)
    }

    /// This quota, `times` over: what that many buckets grant.
    #[must_use]
    pub fn times(&self, times: u32) -> Self {
        let times = Tokens::from(times);
        Self {
            capacity: self.capacity * times,
            rate: self.rate * times,
        }
    }
}

/// What is allowed on top of exactness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The store's unit of time: each grant may be off by so much.
    pub tick: Nanos,
    /// How far apart the clocks that decide may be.
    pub skew: Nanos,
    /// How long after its caller's end or error a call of unknown outcome may still be done.
    pub linger: Nanos,
    /// How long a call may have waited for the bucket after it read the clock.
    pub wait: Nanos,
    /// How old may be what a denial is told from, where hosts remember denials.
    pub hint: Nanos,
    /// How many buckets of the quota there may be behind one name: 1, unless hosts stand in for a store. With more,
    /// denials are not judged: a call that was charged, and whose reply was lost, may be denied by who stands in.
    pub buckets: u32,
    /// What evicted buckets lacked, over all buckets.
    pub evicted: Tokens,
}

impl Rules {
    /// Nothing is allowed.
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
