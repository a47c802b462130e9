//! The lockout: some attempts are free. Then each failure blocks, and one attempt is allowed after
//! each block.
//!
//! An attempt is counted before its result is known, so that parallel guesses cannot all pass a
//! check. Each further failure makes the block longer, up to the longest block. A denial changes
//! nothing, so it never extends a block. If no attempt is made for the length of the longest block,
//! the failures are forgotten.
//!
//! The state is the instant at which the block ends. Its low ten bits are not time, but the number
//! of failures. Without a block, the instant is that of the last attempt. A missing record, or one
//! that a success has cleared, is [`Timestamp::ZERO`].
//!
//! Worked example: 5 attempts, a block of 15 minutes, factor 2. The fifth failure blocks for 15
//! minutes. The attempt after that is the sixth failure, and blocks for 30 minutes.

use crate::clock::{Ticks, Timestamp};
use crate::decision::{Decision, retry_after};
use crate::step::{Denial, Outcome, Step, Verdict};

/// The unit of the instants of states, in ticks.
const UNIT: Ticks = 1 << 10;
/// The most failures that a state counts.
const MOST: u64 = UNIT - 1;

/// The rules of a lockout.
#[derive(Clone, Copy, Debug)]
pub struct Lockout {
    /// The failures that begin the first block: 1 to 512.
    pub attempts: u64,
    /// The first block, in ticks. Less than 2^60.
    pub block: Ticks,
    /// The factor by which each further failure makes the block longer. At least 1.
    pub factor: f64,
    /// The longest block, in ticks. Less than 2^60.
    pub max_block: Ticks,
}

impl Lockout {
    /// Decides an attempt at `now`. If it is granted, it is counted as a failure.
    #[must_use]
    pub fn attempt(&self, state: Timestamp, now: Timestamp) -> Outcome {
        let (until, failures) = self.read(state, now);
        if now < until {
            // The outcome has the same state, unless the clock was set back.
            return Outcome::denied(Denial::LockedOut, Timestamp(until.0 | failures), now);
        }
        let failures = (failures + 1).min(MOST);
        // Without a block, a second attempt at the same instant must not be denied.
        let until = match self.block(failures) {
            0 => now.floor(UNIT),
            _ => self.latest(failures, now),
        };
        granted(Timestamp(until.0 | failures), now)
    }

    /// Returns the outcome of an attempt at `now`, and changes nothing.
    #[must_use]
    pub fn peek(&self, state: Timestamp, now: Timestamp) -> Outcome {
        let empty_at = state;
        Outcome {
            empty_at,
            ..self.attempt(state, now)
        }
    }

    /// Returns the outcome of a success, which clears the state.
    #[must_use]
    pub const fn succeed(_state: Timestamp, now: Timestamp) -> Outcome {
        granted(Timestamp::ZERO, now)
    }

    /// Returns the decision for an outcome, and a number of ticks. During a block, these are the
    /// ticks until the block ends. Otherwise, they are the ticks until the failures are forgotten.
    #[must_use]
    pub fn decision(&self, outcome: &Outcome, fallback: bool) -> (Decision, Ticks) {
        let now = outcome.now;
        let (until, failures) = self.read(outcome.empty_at, now);
        let is_free = outcome.granted() && until <= now;
        let remaining = self.attempts.saturating_sub(failures).max(1).cast_signed();
        // Treats the lockout as a bucket that is empty at the end of the block, and full when the
        // failures are forgotten.
        let step = Step::new(0, self.max_block);
        let empty_at = until;
        let decision = Decision {
            verdict: outcome.verdict,
            remaining: if is_free { remaining } else { 0 },
            retry_after: retry_after(
                &step,
                &Outcome {
                    empty_at,
                    ..*outcome
                },
            ),
            reset_after: match failures {
                0 => 0,
                _ => step.reset_after(until, now),
            },
            fallback,
        };
        let next = match until.saturating_since(now) {
            0 => decision.reset_after,
            wait => wait,
        };
        (decision, next)
    }

    /// Returns the end of the block in a state, and the failures that are not forgotten at `now`.
    ///
    /// The end is at most a block after `now`. So a clock that was set back does not make the block
    /// longer, and a shorter block in changed rules takes effect at once.
    fn read(&self, state: Timestamp, now: Timestamp) -> (Timestamp, u64) {
        let failures = state.0 % UNIT;
        let until = Timestamp(state.0 - failures).min(self.latest(failures, now));
        if until.saturating_add(self.max_block) <= now {
            return (until, 0);
        }
        (until, failures)
    }

    /// Returns the end of a block that begins at `now`, rounded up to the unit.
    fn latest(&self, failures: u64, now: Timestamp) -> Timestamp {
        match self.block(failures) {
            0 => now,
            block => (now + block).ceil(UNIT),
        }
    }

    /// Returns the length of the block that begins with this number of failures, in ticks. Returns
    /// 0 if they begin no block.
    // The product is not negative, and a cast limits it to 64 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn block(&self, failures: u64) -> Ticks {
        let block = match failures.checked_sub(self.attempts) {
            None => return 0,
            Some(0) => self.block,
            // The exponent is at most 1023.
            Some(more) => (self.block as f64 * self.factor.powi(more as i32)) as Ticks,
        };
        block.min(self.max_block)
    }
}

const fn granted(empty_at: Timestamp, now: Timestamp) -> Outcome {
    let verdict = Verdict::Granted;
    Outcome {
        verdict,
        now,
        empty_at,
    }
}
