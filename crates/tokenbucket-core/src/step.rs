//! The one decision: may these tokens be taken now?
//!
//! A bucket is one instant, `empty_at`: the time at which it was, or will be, empty. It holds
//! `min(now - empty_at, burst)` worth of tokens. Taking some moves `empty_at` forward by their cost:
//!
//! ```text
//! next = max(empty_at, now - burst) + cost        granted exactly when next <= now
//! ```
//!
//! This is GCRA (the generic cell rate algorithm) with its theoretical arrival time shifted back by
//! the burst. In this form a quota that changes does the right thing on a live bucket: a smaller
//! capacity locks nobody out for longer than one refill, and a larger one gives no windfall.
//!
//! Invariant: a step never moves `empty_at` back. A denial leaves it alone unless it charges a debt.
//!
//! Worked example: capacity 10, one token a second, empty at second 100. At second 103.5 the bucket
//! holds 3.5 tokens; taking 3 moves `empty_at` to 103, taking 4 is denied and succeeds at 104.

use crate::clock::Ticks;

/// What is asked of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The time in which the wanted tokens refill. A step that costs more than `burst` is never
    /// granted.
    pub cost: Ticks,
    /// The time in which the whole bucket refills. At most 2^60.
    pub burst: Ticks,
    /// The bucket drains at multiples of this only; 1 for a bucket that drains all the time. Never 0.
    pub tick: Ticks,
    /// How far into the future denied calls may push `empty_at`; 0 when denials are free. At most 2^60.
    pub max_debt: Ticks,
    /// Answer only, change nothing.
    pub dry: bool,
}

/// The answer of a step, with the numbers it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Granted, or why not.
    pub verdict: Verdict,
    /// The instant at which the answer is true.
    pub now: Ticks,
    /// The bucket's state after the step.
    pub empty_at: Ticks,
}

/// Granted, or why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The tokens were taken (by a dry step: could be).
    Granted,
    /// They were not.
    Denied(Denial),
}

/// Why tokens were not taken.
///
/// A word wide, as the rest of an [`Outcome`] is: a byte that is written and read back as a part of a word has to
/// wait until it is in the cache, which took a sixth of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Denial {
    /// The bucket does not hold that many now.
    Insufficient,
    /// The bucket never holds that many.
    ExceedsCapacity,
    /// Other processes changed the bucket too often at that instant. Counted.
    Contended,
    /// No place for another bucket. Counted.
    TableFull,
    /// The store failed, and its failure policy is to deny. Counted.
    Unavailable,
    /// A signal ended the waiting for tokens. No step answers this.
    Interrupted,
}

impl Step {
    /// A plain step: no drain tick, free denials.
    #[must_use]
    pub const fn new(cost: Ticks, burst: Ticks) -> Self {
        Self {
            cost,
            burst,
            tick: 1,
            max_debt: 0,
            dry: false,
        }
    }

    /// Whether the bucket drains all the time and denials are free.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        self.tick == 1 && self.max_debt == 0
    }

    /// True if not even a full bucket holds the tokens.
    #[inline]
    #[must_use]
    pub const fn exceeds_capacity(&self) -> bool {
        self.cost > self.burst
    }

    /// The same question, changing nothing.
    #[must_use]
    pub const fn dry(self) -> Self {
        Self { dry: true, ..self }
    }

    /// After this long an untouched bucket is certainly full.
    #[must_use]
    pub const fn span(&self) -> Ticks {
        // burst and tick are at most 2^60 each; a tick of 1 delays nothing.
        self.burst + (self.tick - 1)
    }

    /// Decides at `now` for a bucket in state `empty_at`; a bucket that does not exist is full (0).
    #[inline]
    #[must_use]
    pub fn decide(&self, empty_at: Ticks, now: Ticks) -> Outcome {
        let next = self.next(empty_at, now);
        if next <= self.drained(now) {
            let empty_at = if self.dry { empty_at } else { next };
            return Outcome {
                verdict: Verdict::Granted,
                now,
                empty_at,
            };
        }
        if self.exceeds_capacity() {
            // A call that is never granted is never charged.
            return Outcome::denied(Denial::ExceedsCapacity, empty_at, now);
        }
        let empty_at = if self.max_debt == 0 || self.dry {
            empty_at
        } else {
            // now < 2^61 and a debt of 2^60 stay below 2^62.
            empty_at.max(next.min(now + self.max_debt))
        };
        Outcome::denied(Denial::Insufficient, empty_at, now)
    }

    /// Grants the first tokens of a bucket without a record that starts from `first` instead of full;
    /// decides as for a full bucket if no first state is proposed.
    ///
    /// Who proposes a first state has decided already; the tokens are charged all the same, so a
    /// proposal that comes late gives nothing away.
    #[must_use]
    pub fn decide_first(&self, first: Option<Ticks>, now: Ticks) -> Outcome {
        match first {
            Some(first) if !self.dry && !self.exceeds_capacity() => Outcome {
                verdict: Verdict::Granted,
                now,
                empty_at: first.max(self.next(0, now)),
            },
            _ => self.decide(0, now),
        }
    }

    /// `empty_at` as it would be after the step. Stays below 2^63: each term is at most 2^62.
    #[inline]
    fn next(&self, empty_at: Ticks, now: Ticks) -> Ticks {
        empty_at.max(self.drained(now).saturating_sub(self.burst)) + self.cost
    }

    /// The last drain tick that is not after `now`.
    #[inline]
    fn drained(&self, now: Ticks) -> Ticks {
        if self.tick == 1 {
            now
        } else {
            now - now % self.tick
        }
    }

    /// The first drain tick that is not before `instant`.
    fn drains(&self, instant: Ticks) -> Ticks {
        instant.next_multiple_of(self.tick)
    }

    /// Ticks that the bucket holds at `now`.
    #[must_use]
    pub fn available(&self, empty_at: Ticks, now: Ticks) -> Ticks {
        self.drained(now).saturating_sub(empty_at).min(self.burst)
    }

    /// How long until this step would be granted if nobody else took tokens.
    #[must_use]
    pub fn retry_after(&self, empty_at: Ticks, now: Ticks) -> Ticks {
        self.drains(self.next(empty_at, now)).saturating_sub(now)
    }

    /// How long until the bucket is full if nobody took tokens.
    #[must_use]
    pub fn reset_after(&self, empty_at: Ticks, now: Ticks) -> Ticks {
        self.drains(empty_at + self.burst).saturating_sub(now)
    }
}

impl Outcome {
    /// A denial of a bucket in state `empty_at` at `now`.
    #[inline]
    #[must_use]
    pub const fn denied(denial: Denial, empty_at: Ticks, now: Ticks) -> Self {
        Self {
            verdict: Verdict::Denied(denial),
            now,
            empty_at,
        }
    }

    /// Whether the tokens were taken.
    #[inline]
    #[must_use]
    pub const fn granted(&self) -> bool {
        matches!(self.verdict, Verdict::Granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const S: Ticks = crate::TICKS_PER_SECOND;

    #[test]
    fn the_worked_example_holds() {
        let at = 103 * S + S / 2;
        let three = Step::new(3 * S, 10 * S).decide(100 * S, at);
        assert!(three.granted());
        assert_eq!(three.empty_at, 103 * S);
        let step = Step::new(4 * S, 10 * S);
        let four = step.decide(100 * S, at);
        assert_eq!(four.verdict, Verdict::Denied(Denial::Insufficient));
        assert_eq!(four.empty_at, 100 * S);
        assert_eq!(step.retry_after(100 * S, at), S / 2);
        assert_eq!(step.available(100 * S, at), 3 * S + S / 2);
        assert_eq!(step.reset_after(100 * S, at), 6 * S + S / 2);
    }

    #[test]
    fn a_drain_tick_holds_tokens_back_until_it_comes() {
        let step = Step {
            tick: 30 * S,
            ..Step::new(S, 6 * S)
        };
        assert!(!step.decide(60 * S, 89 * S).granted());
        assert_eq!(step.retry_after(60 * S, 89 * S), S);
        assert!(step.decide(60 * S, 90 * S).granted());
        assert_eq!(step.span(), 36 * S - 1);
    }

    #[test]
    fn a_charged_denial_stops_at_the_debt() {
        let step = Step {
            max_debt: 2 * S,
            ..Step::new(S, 3 * S)
        };
        let mut empty_at = 100 * S;
        for _ in 0..5 {
            empty_at = step.decide(empty_at, 100 * S).empty_at;
        }
        assert_eq!(empty_at, 102 * S);
        assert_eq!(step.dry().decide(100 * S, 100 * S).empty_at, 100 * S);
    }
}
