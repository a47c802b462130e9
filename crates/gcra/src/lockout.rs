//! The lockout: some attempts are free. Then each failure blocks, and one attempt is allowed after
//! each block.
//!
//! An attempt is counted before its result is known, so that parallel guesses cannot all pass a
//! check. Each further failure makes the block longer, up to the longest block. A denial changes
//! nothing, so it never extends a block. If no attempt is made for the length of the longest block,
//! the failures are forgotten.
//!
//! The state is the instant at which the block ends. Its low eleven bits are not time: ten are the
//! number of failures, and [`KEPT`] is the last one. Without a block, the instant is that of the
//! last attempt. A missing record, or one that a success has cleared, is [`Timestamp::ZERO`].
//!
//! The instants of a state may be in the future. If one clock decides, it was set back, and the
//! state is moved back. If several clocks decide, one of them is ahead, and the state stays: two
//! hosts that call in turn would otherwise end each block early. So the attempts of any time `t`
//! are those of one clock in `t` and the greatest difference of the clocks.
//!
//! An attempt that verified nothing can be cancelled. That takes one failure back, and ends the
//! block that the attempt began. If anybody can make the verifier fail, each cancelled attempt is a
//! free guess. So [`Lockout::take_cancel`] limits the number of cancelled attempts.
//!
//! Worked example: 5 attempts, a block of 15 minutes, factor 2. The fifth failure blocks for 15
//! minutes. The attempt after that is the sixth failure, and blocks for 30 minutes.

use crate::clock::{TICKS_PER_SECOND, Ticks, Timestamp};
use crate::decision::{Decision, retry_after};
use crate::step::{Denial, Outcome, Step, Verdict};

/// The finest unit of the instants of states, in ticks.
pub const UNIT: Ticks = 1 << 11;
/// The bit of a block that other attempts have begun than those that are counted: it goes on,
/// although failures were taken back.
const KEPT: u64 = 1 << 10;
/// The most failures that a state counts.
const MOST: u64 = KEPT - 1;

/// The cancelled attempts of a lockout in a row. NIST SP 800-63B allows 100 wrong guesses in a row.
const CANCELS: u64 = 100;
/// The time in which all of them come back, in ticks.
pub const CANCEL_SPAN: Ticks = 86_400 * TICKS_PER_SECOND;

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
    /// The unit of the instants of states, in ticks: [`UNIT`], or a multiple of it for a store that
    /// keeps fewer bits.
    pub unit: Ticks,
    /// True if one clock decides all attempts, each after it has read the state.
    pub one_clock: bool,
}

impl Lockout {
    /// Decides an attempt at `now`. If it is granted, it is counted as a failure.
    pub fn attempt(&self, state: Timestamp, now: Timestamp) -> Outcome {
        let (until, failures) = self.read(state, now);
        if now < until {
            // The outcome has the same state, unless the clock was set back.
            let kept = state.0 & KEPT;
            return Outcome::denied(Denial::LockedOut, Timestamp(until.0 | kept | failures), now);
        }
        let failures = (failures + 1).min(MOST);
        // Without a block, a second attempt at the same instant must not be denied.
        let begin = self.instant(state, now);
        let until = match self.block(failures) {
            0 => begin.floor(self.unit),
            block => self.end(block, begin),
        };
        granted(Timestamp(until.0 | failures), now)
    }

    /// Returns the outcome of an attempt at `now`, and changes nothing.
    pub fn peek(&self, state: Timestamp, now: Timestamp) -> Outcome {
        let empty_at = state;
        Outcome {
            empty_at,
            ..self.attempt(state, now)
        }
    }

    /// Returns the outcome of a success, which clears the state.
    pub const fn succeed(_state: Timestamp, now: Timestamp) -> Outcome {
        granted(Timestamp::ZERO, now)
    }

    /// Returns the outcome of taking back an attempt, which has written the state `attempt`. Denies
    /// it if the failures are forgotten, or if the attempt's block was cleared.
    pub fn cancel(&self, attempt: Timestamp, state: Timestamp, now: Timestamp) -> Outcome {
        let (until, failures) = self.read(state, now);
        let (its_until, its_failures) = self.read(attempt, now);
        let is_own = attempt.0 / UNIT == state.0 / UNIT;
        let is_cleared = !is_own && now < its_until;
        if failures == 0 || its_failures == 0 || is_cleared {
            return Outcome::denied(Denial::Insufficient, state, now);
        }
        let failures = failures - 1;
        granted(
            match (is_own || until <= now, failures) {
                (true, 0) => Timestamp::ZERO,
                (true, _) => {
                    let ended = self.instant(state, now).floor(self.unit);
                    Timestamp(ended.min(state.floor(UNIT)).0 | failures)
                }
                (false, _) => Timestamp(until.0 | KEPT | failures),
            },
            now,
        )
    }

    /// Decides whether one more attempt may be cancelled: [`CANCELS`] in a row, and as many in each
    /// [`CANCEL_SPAN`]. The state is a record of its own, which means nothing once its instant is
    /// past.
    pub fn take_cancel(&self, state: Timestamp, now: Timestamp) -> Outcome {
        let begin = now.ceil(self.unit);
        let pause = (CANCEL_SPAN / CANCELS).next_multiple_of(self.unit);
        let latest = begin + pause * CANCELS;
        let state = if self.one_clock {
            state.min(latest)
        } else {
            state
        };
        let next = state.max(begin) + pause;
        if next > latest {
            return Outcome::denied(Denial::Insufficient, state, now);
        }
        granted(next, now)
    }

    /// Returns the decision for an outcome, and a number of ticks. During a block, these are the
    /// ticks until the block ends. Otherwise, they are the ticks until the failures are forgotten.
    pub fn decision(&self, outcome: &Outcome, fallback: bool) -> (Decision, Ticks) {
        let now = outcome.now;
        let (until, failures) = self.read(outcome.empty_at, now);
        let is_free = outcome.granted() && until <= now;
        let remaining = self.attempts.saturating_sub(failures).max(1).cast_signed();
        // Treats the lockout as a bucket that is empty at the end of the block, and full when the
        // failures are forgotten.
        let step = Step::new(0, self.memory());
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
                0 if until <= now => 0,
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

    /// Returns the ticks since the block began that denies `outcome`.
    #[must_use]
    pub fn blocked_for(&self, outcome: &Outcome) -> Ticks {
        let (until, failures) = self.read(outcome.empty_at, outcome.now);
        let left = until.saturating_since(outcome.now);
        self.block(failures).saturating_sub(left)
    }

    /// Returns the end of the block in a state, and the failures that are not forgotten at `now`.
    ///
    /// With one clock, the end is at most a block after `now`. So a clock that was set back does
    /// not make the block longer, and a shorter block in changed rules takes effect at once.
    fn read(&self, state: Timestamp, now: Timestamp) -> (Timestamp, u64) {
        let failures = state.0 & MOST;
        let latest = match self.longest(state) {
            0 => now,
            block if self.one_clock => self.end(block, now),
            _ => Timestamp::MAX,
        };
        let until = state.floor(UNIT).min(latest);
        if until.saturating_add(self.memory()) <= now {
            return (until, 0);
        }
        (until, failures)
    }

    /// Returns the ticks after the instant of a state until its failures are forgotten. The instant
    /// of an attempt is rounded down.
    const fn memory(&self) -> Ticks {
        self.max_block + (self.unit - UNIT)
    }

    /// Returns the instant of an attempt on `state` at `now`. It is not before the last attempt,
    /// which a clock that is ahead may have counted.
    fn instant(&self, state: Timestamp, now: Timestamp) -> Timestamp {
        if self.one_clock {
            return now;
        }
        now.max(state.floor(UNIT).saturating_sub(self.longest(state)))
    }

    /// Returns the length of the longest block that may have written a state, or 0 if none has.
    fn longest(&self, state: Timestamp) -> Ticks {
        match state.0 & KEPT {
            0 => self.block(state.0 & MOST),
            _ => self.max_block,
        }
    }

    /// Returns the end of a block that starts at `begin`, rounded up to the unit.
    fn end(&self, block: Ticks, begin: Timestamp) -> Timestamp {
        (begin + block).ceil(self.unit)
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
    Outcome::new(Verdict::Granted, empty_at, now)
}
