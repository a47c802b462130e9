//! The allowances of the judgement, and the faults that it counts by rules of their own.
//!
//! The allowances are fixed before the judge reads the log. Each allowance weakens the evidence, so
//! there are few allowances. [`Rules`] lists all of them. [`crate::verdict::Verdict`] reports the
//! sum of the allowances that widen every window.

use crate::call::{Nanos, Tokens};

/// The allowances: how far a limiter may differ from an exact limiter. All times are in
/// nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The store's unit of time. The time of each grant may be wrong by this much.
    pub tick: Nanos,
    /// The greatest difference between the clocks of hosts that share a bucket.
    pub skew: Nanos,
    /// The time after a caller's death or error in which its call may still take effect.
    pub linger: Nanos,
    /// The longest time that a call may have waited for the bucket after the store read the clock.
    pub wait: Nanos,
    /// The greatest age of an entry of the denial cache.
    pub cached: Nanos,
    /// The longest time for which a host keeps a place in the queue of a bucket. The judge does not
    /// know the places, which lie with hosts until their calls use them. So if this time is
    /// positive, denials are judged by the takes that a proxy has logged ([`crate::ahead`]).
    pub ahead: Nanos,
    /// The number of buckets of the quota under one name. It is 1, unless hosts fall back to their
    /// own buckets. A store may charge a call and lose its reply. Because the fallback may then
    /// deny the call, denials are not judged if this number is greater than 1.
    pub buckets: u32,
    /// The sum of the tokens that evicted buckets lacked.
    pub evicted: Tokens,
}

impl Rules {
    /// Rules without any allowance, for an exact limiter.
    pub const EXACT: Self = Self {
        tick: 0,
        skew: 0,
        linger: 0,
        wait: 0,
        cached: 0,
        ahead: 0,
        buckets: 1,
        evicted: 0,
    };
}

/// The faults by one rule of a quota or of a lockout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    pub count: u64,
    /// The message for the first fault.
    pub first: String,
}

impl Broken {
    /// Counts a fault.
    pub fn add(&mut self, message: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = message();
        }
        self.count += 1;
    }
}
