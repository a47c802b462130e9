//! Tokens and permits that less important requests leave to the others: `leave 60 on /export*`.
//!
//! The requests of one limit share a bucket or its permits. Those that a condition matches are
//! denied unless so many tokens or permits stay free. So they cannot take all of them.

use super::GuardedRequest;
use super::condition::Condition;
use super::target::Target;
use gcra::{Limit, Patience, Step};
use std::fmt;

/// A number of tokens or permits, and the requests that leave it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leave {
    /// At least 1, and less than the limit allows at once.
    pub count: u64,
    pub condition: Condition,
}

impl Leave {
    pub fn is_of<R: GuardedRequest>(&self, target: &Target<'_, R>) -> bool {
        self.condition.holds(target)
    }
}

/// Returns the step on the bucket of a rate: it takes a token, and leaves so many others.
#[inline(always)]
pub fn step_leaving(limit: &Limit, tokens: u64) -> Step {
    let step = limit.step_whole(1);
    match tokens {
        0 => step,
        // Together they are at most the capacity, so they have a cost.
        tokens => step.with(Patience::Leave(
            limit.step_whole(tokens + 1).cost - step.cost,
        )),
    }
}

/// Writes the canonical form with a blank in front, as it stands after a limit.
impl fmt::Display for Leave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " leave {} {}", self.count, self.condition)
    }
}
