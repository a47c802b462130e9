//! The wait that a limiter reports after a request.

use gcra::decision::retry_after;
use gcra::{Outcome, Step, Ticks};

/// The time until the same request would be admitted, if no other request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(Option<Ticks>);

impl Wait {
    /// The request was admitted.
    pub const NONE: Self = Self(Some(0));
    /// Such a request is never admitted.
    pub const NEVER: Self = Self(None);

    /// Returns the wait of a denied request, which is at least one tick.
    pub fn denied(ticks: Ticks) -> Self {
        Self(Some(ticks.max(1)))
    }

    /// Returns the wait of a request that was decided as a step of a bucket.
    pub fn after(step: &Step, outcome: &Outcome) -> Self {
        if outcome.granted() {
            return Self::NONE;
        }
        retry_after(step, outcome).map_or(Self::NEVER, Self::denied)
    }

    /// Reports whether the request was admitted.
    pub fn admits(self) -> bool {
        self == Self::NONE
    }

    /// Returns the wait in ticks. Returns 0 if the request was admitted, and `None` if such a
    /// request is never admitted.
    pub const fn ticks(self) -> Option<Ticks> {
        self.0
    }
}

impl Default for Wait {
    fn default() -> Self {
        Self::NONE
    }
}
