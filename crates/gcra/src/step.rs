//! The step: decides whether a bucket grants tokens now.
//!
//! A bucket is one instant, `empty_at`: the time at which it was, or will be, empty. It holds the
//! tokens that refill in `min(now - empty_at, span)` ticks. Taking tokens moves `empty_at` forward
//! by their cost:
//!
//! ```text
//! next = max(empty_at, now - span) + cost        granted exactly when next <= now
//! ```
//!
//! This is GCRA (the generic cell rate algorithm) with its theoretical arrival time shifted back by
//! the span. In this form, a changed limit works on a live bucket. A smaller capacity causes
//! denials for one refill at most. A larger capacity grants no extra tokens at once.
//!
//! Invariant: a step never moves `empty_at` back. A denial does not change it, unless it charges a
//! debt. A step that costs nothing does not change it either.
//!
//! A step with a `max_wait` may be granted tokens that are not there yet. Then `empty_at` is in the
//! future, and the bucket is in debt until that instant. Later steps get the tokens that refill
//! after that instant. Reservations use this to serve callers in order of arrival. Charges that
//! must not be denied also have a `max_wait`.
//!
//! A negative `max_wait` is a floor: a grant must leave the tokens of that many ticks in the
//! bucket. Less important callers have a floor, so that they leave tokens to more important ones.
//!
//! A bucket may also be refilled at certain instants only ([`Refill`]). Then the formula uses the
//! last of these instants before or at `now` instead of `now`. In a window, the bucket is full at
//! the start, so the instant is the start plus the span.
//!
//! Worked example: capacity 10, one token a second, empty at second 100. At second 103.5 the bucket
//! holds 3.5 tokens. Taking 3 moves `empty_at` to 103. Taking 4 is denied, and succeeds at 104.

use crate::clock::{EPOCH, Ticks, Timestamp};
pub use crate::outcome::{Denial, Outcome, Verdict};
use crate::refill::Refill;

/// The greatest wait and the greatest debt: 2^60 ticks (36 years).
pub const MAX_WAIT: Ticks = EPOCH.0;

/// A request for tokens of one bucket.
///
/// The layout is fixed. Otherwise the compiler would put `refill` first, and every grant would take
/// longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Step {
    /// The cost: the time in which the requested tokens refill, in ticks. A step whose cost exceeds
    /// the sum of `span` and `max_wait` is never granted.
    pub cost: Ticks,
    /// The span: the time in which an empty bucket becomes full. At most 2^60 ticks.
    pub span: Ticks,
    pub refill: Refill,
    /// The most ticks by which denied calls may push `empty_at` into the future. 0 if denials are
    /// free. At most 2^60 ticks.
    pub max_debt: Ticks,
    /// The most ticks by which a grant may push `empty_at` into the future. 0 if the step needs all
    /// its tokens now, or if `max_debt` is not 0. At most [`MAX_WAIT`]. If it is negative, a grant
    /// leaves `empty_at` that many ticks or more in the past. At least `-2^60`.
    pub max_wait: i64,
    /// True for a step that returns a verdict and changes nothing.
    pub dry: bool,
}

/// The tokens with which a caller is content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Those that refill within this many ticks, at most [`MAX_WAIT`].
    Wait(Ticks),
    /// Those above a floor of this many ticks, at most 2^60.
    Leave(Ticks),
}

impl Step {
    /// Returns a plain step: the bucket is refilled all the time, and denials are free.
    pub const fn new(cost: Ticks, span: Ticks) -> Self {
        Self {
            cost,
            span,
            refill: Refill::Continuous,
            max_debt: 0,
            max_wait: 0,
            dry: false,
        }
    }

    /// Reports whether the bucket is refilled all the time and denials are free. A denial of such a
    /// step can be derived from a lower bound of `empty_at`.
    pub const fn is_plain(&self) -> bool {
        matches!(self.refill, Refill::Continuous) && self.max_debt == 0
    }

    /// Reports whether even a full bucket would deny the step.
    #[inline]
    pub const fn exceeds_capacity(&self) -> bool {
        // The cost is below 2^63, and each other number is at most 2^60.
        self.cost.cast_signed() > self.span.cast_signed() + self.max_wait
    }

    /// Returns the same step of a caller with this patience.
    pub const fn with(self, patience: Patience) -> Self {
        let max_wait = match patience {
            Patience::Wait(ticks) => ticks.cast_signed(),
            Patience::Leave(ticks) => -ticks.cast_signed(),
        };
        Self { max_wait, ..self }
    }

    /// Returns the same step as a dry step, which changes nothing.
    pub const fn dry(self) -> Self {
        Self { dry: true, ..self }
    }

    /// Returns the ticks after which an empty bucket is certainly full if no call takes tokens.
    pub fn lifetime(&self) -> Ticks {
        match self.refill {
            Refill::Continuous => self.span,
            // The span and the drain tick are at most 2^60 ticks each.
            Refill::Ticks(tick) => self.span + (tick.get() - 1),
            // The state is not before the start of its window. So after the length of a window, the
            // next window has begun, in which the bucket is full.
            Refill::Windows(windows) => windows.end() - windows.start,
        }
    }

    /// Decides at `now` whether a bucket in the state `empty_at` grants the tokens. A bucket
    /// without a record is full, which is the state [`Timestamp::ZERO`].
    #[inline]
    pub fn decide(&self, empty_at: Timestamp, now: Timestamp) -> Outcome {
        let drained = self.drained(now);
        let next = self.held(empty_at, drained) + self.cost;
        // Both instants are below 2^63.
        if next.signed_since(drained) <= self.max_wait {
            // A step that costs nothing changes nothing, because the bucket may hold more tokens
            // for a caller with a larger span.
            let is_dry = self.dry || self.cost == 0;
            let empty_at = if is_dry { empty_at } else { next };
            return Outcome::new(Verdict::Granted, empty_at, now);
        }
        if self.exceeds_capacity() {
            // A call that can never be granted is never charged.
            return Outcome::denied(Denial::ExceedsCapacity, empty_at, now);
        }
        let empty_at = if self.max_debt == 0 || self.dry {
            empty_at
        } else {
            // `now` is below 2^61 and a debt at most 2^60, so the sum is below 2^62.
            empty_at.max(next.min(now + self.max_debt))
        };
        Outcome::denied(Denial::Insufficient, empty_at, now)
    }

    /// Decides on a bucket in the state `found`, or on one without a record, which starts from
    /// `first` as in [`Step::decide_first`].
    pub fn decide_on(
        &self,
        found: Option<Timestamp>,
        first: Option<Timestamp>,
        now: Timestamp,
    ) -> Outcome {
        match found {
            Some(empty_at) => self.decide(empty_at, now),
            None => self.decide_first(first, now),
        }
    }

    /// Decides for a bucket without a record. `first` is a proposal for the state after the step,
    /// from a caller that has already granted the tokens. Then the step is granted, unless it is
    /// dry or exceeds the capacity. If `first` is `None`, the step is decided as for a full bucket.
    ///
    /// The new state is at least that of a full bucket after the step at `now`. So a proposal that
    /// arrives late gives no tokens away.
    pub fn decide_first(&self, first: Option<Timestamp>, now: Timestamp) -> Outcome {
        match first {
            Some(first) if !self.dry && !self.exceeds_capacity() => {
                let empty_at = first.max(self.decide(Timestamp::ZERO, now).empty_at);
                Outcome::new(Verdict::Granted, empty_at, now)
            }
            _ => self.decide(Timestamp::ZERO, now),
        }
    }

    /// Returns the state `empty_at`, or the state of a full bucket if that is later. The sum of the
    /// result and a cost is below 2^63, because each term is at most 2^62.
    #[inline]
    fn held(&self, empty_at: Timestamp, drained: Timestamp) -> Timestamp {
        empty_at.max(drained.saturating_sub(self.span))
    }

    /// Returns the instant up to which the bucket has been refilled at `now`.
    #[inline]
    fn drained(&self, now: Timestamp) -> Timestamp {
        match self.refill {
            Refill::Continuous => now,
            Refill::Ticks(tick) => now.floor(tick.get()),
            Refill::Windows(windows) => windows.start + self.span,
        }
    }

    /// Returns the first instant at which the bucket has been refilled up to `instant`.
    #[inline]
    fn drains(&self, instant: Timestamp) -> Timestamp {
        match self.refill {
            Refill::Continuous => instant,
            Refill::Ticks(tick) => instant.ceil(tick.get()),
            Refill::Windows(windows) => {
                let from = instant.saturating_sub(self.span);
                windows.first_from(from).unwrap_or(instant)
            }
        }
    }

    /// Returns the step of a call at `now` on another clock, which may be in another window.
    pub fn at(self, now: Timestamp) -> Self {
        match self.refill {
            Refill::Windows(windows) => Self {
                refill: Refill::Windows(windows.at(now)),
                ..self
            },
            _ => self,
        }
    }

    /// Reports whether the outcome is a denial because the store's clock is outside of the windows
    /// that the step knows.
    pub fn is_outside(&self, outcome: &Outcome) -> bool {
        let Refill::Windows(windows) = self.refill else {
            return false;
        };
        !outcome.granted() && !windows.contain(outcome.now)
    }

    /// Reports whether the state `empty_at` allows nothing more in the window of the step, not even
    /// a charge: the window is blocked, or the state is of a later window.
    pub fn is_closed(&self, empty_at: Timestamp) -> bool {
        matches!(self.refill, Refill::Windows(windows) if empty_at >= windows.end())
    }

    /// Returns the tokens that the bucket holds at `now`, as the ticks in which they refill.
    pub fn available(&self, empty_at: Timestamp, now: Timestamp) -> Ticks {
        self.drained(now).saturating_since(empty_at).min(self.span)
    }

    /// Returns the ticks until this step would be granted, if no other call took tokens.
    pub fn retry_after(&self, empty_at: Timestamp, now: Timestamp) -> Ticks {
        if let Some(end) = self.block_beyond(empty_at) {
            return end.saturating_since(now);
        }
        let granted_at = self.held(empty_at, self.drained(now)) + self.cost;
        let granted_at = granted_at.saturating_add_signed(-self.max_wait);
        self.drains(granted_at).saturating_since(now)
    }

    /// Returns the end of a block that ends later than all windows that are known. It is the start
    /// of a window, and the bucket is full then.
    fn block_beyond(&self, empty_at: Timestamp) -> Option<Timestamp> {
        match self.refill {
            Refill::Windows(windows) if windows.first_from(empty_at).is_none() => Some(empty_at),
            _ => None,
        }
    }

    /// Returns the ticks in which the tokens refill that a grant must leave in the bucket.
    pub fn floor(&self) -> Ticks {
        self.max_wait.min(0).unsigned_abs()
    }

    /// Returns the verdict of `outcome` with the reason for callers. A denial is below the floor if
    /// the same step without its floor would be granted.
    pub fn reason(&self, outcome: &Outcome) -> Verdict {
        let floorless = Self {
            max_wait: 0,
            ..*self
        };
        if outcome.verdict == Verdict::Denied(Denial::Insufficient)
            && self.max_wait < 0
            && floorless.decide(outcome.empty_at, outcome.now).granted()
        {
            return Verdict::Denied(Denial::BelowFloor);
        }
        outcome.verdict
    }

    /// Returns the ticks from `now` until the debt of the bucket is repaid. Returns 0 if the bucket
    /// is not in debt.
    pub fn debt(&self, empty_at: Timestamp, now: Timestamp) -> Ticks {
        if let Refill::Windows(windows) = self.refill
            && empty_at >= windows.end()
        {
            // The state is of a later window, or the whole window is blocked.
            return 0;
        }
        empty_at.saturating_since(self.drained(now))
    }

    /// Returns the ticks until the bucket is full, if no call took tokens. For windows, returns the
    /// ticks until the window ends, even if its bucket is full.
    pub fn reset_after(&self, empty_at: Timestamp, now: Timestamp) -> Ticks {
        let full_at = match self.refill {
            Refill::Windows(windows) => {
                let from = empty_at.max(windows.start + 1);
                windows.first_from(from).unwrap_or(from)
            }
            _ => self.drains(empty_at + self.span),
        };
        full_at.saturating_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Windows;
    use std::collections::BTreeSet;
    use std::num::NonZero;

    const S: Ticks = crate::TICKS_PER_SECOND;
    const NOW: Timestamp = Timestamp(100);

    #[test]
    fn every_verdict_is_at_its_place_in_the_list() {
        for (place, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict.number(), place);
        }
        let words: BTreeSet<_> = Verdict::ALL.iter().map(|it| it.reason()).collect();
        assert_eq!(words.len(), Verdict::ALL.len());
        assert_eq!(words.first(), Some(&"below_floor"));
    }

    /// Returns the instant after `seconds`.
    const fn at(seconds: u64) -> Timestamp {
        Timestamp(seconds * S)
    }

    #[test]
    fn the_worked_example_holds() {
        let now = at(103) + S / 2;
        let three = Step::new(3 * S, 10 * S).decide(at(100), now);
        assert!(three.granted());
        assert_eq!(three.empty_at, at(103));
        let step = Step::new(4 * S, 10 * S);
        let four = step.decide(at(100), now);
        assert_eq!(four.verdict, Verdict::Denied(Denial::Insufficient));
        assert_eq!(four.empty_at, at(100));
        assert_eq!(step.retry_after(at(100), now), S / 2);
        assert_eq!(step.available(at(100), now), 3 * S + S / 2);
        assert_eq!(step.reset_after(at(100), now), 6 * S + S / 2);
    }

    #[test]
    fn a_patience_waits_or_leaves_tokens() {
        let step = Step::new(3, 10);
        let wait = |patience| step.with(patience).max_wait;
        assert_eq!([Patience::Wait(4), Patience::Leave(4)].map(wait), [4, -4]);
        let floor = |patience| step.with(patience).floor();
        assert_eq!([Patience::Wait(4), Patience::Leave(4)].map(floor), [0, 4]);
    }

    #[test]
    fn a_quota_is_denied_until_its_window_ends_or_a_later_block() {
        let windows = Windows::new(at(100), [10, 20, 30]);
        let step = Step {
            refill: Refill::Windows(windows),
            ..Step::new(1, 5)
        };
        assert_eq!(step.retry_after(at(100) + 5, at(105)), 15 * S);
        assert_eq!(step.retry_after(at(200), at(105)), 95 * S);
        let next = windows.at(at(121));
        assert_ne!(next, windows);
        assert_eq!(step.at(at(121)).refill, Refill::Windows(next));
    }

    #[test]
    fn windows_are_outside_or_closed() {
        let windows = Windows::new(at(100), [10, 20, 30]);
        let plain = Step::new(1, 5);
        let step = Step {
            refill: Refill::Windows(windows),
            ..plain
        };
        let denied = |now| Outcome::denied(Denial::Insufficient, at(100), now);
        let is_outside = |now| step.is_outside(&denied(now));
        assert_eq!(
            [89, 90, 149, 150].map(|it| is_outside(at(it))),
            [true, false, false, true]
        );
        assert!(!step.is_outside(&Outcome::new(Verdict::Granted, at(100), at(150))));
        assert!(!plain.is_outside(&denied(at(150))));
        assert_eq!([119, 120].map(|it| step.is_closed(at(it))), [false, true]);
        assert!(!plain.is_closed(at(120)));
        assert_eq!((plain.lifetime(), step.lifetime()), (5, 20 * S));
        let leaky = Step {
            refill: Refill::every(NonZero::new(4).unwrap()),
            ..plain
        };
        assert_eq!(leaky.lifetime(), 8);
    }

    #[test]
    fn a_step_above_the_capacity_is_denied_for_ever_and_not_charged() {
        for (cost, max_wait, exceeds) in
            [(10, 0, false), (11, 0, true), (11, 1, false), (12, 1, true)]
        {
            let step = Step {
                max_wait,
                max_debt: 5,
                ..Step::new(cost, 10)
            };
            assert_eq!(step.exceeds_capacity(), exceeds);
            let denied = step.decide(Timestamp(95), NOW);
            let denial = if exceeds {
                Denial::ExceedsCapacity
            } else {
                Denial::Insufficient
            };
            assert_eq!(denied.verdict, Verdict::Denied(denial));
            assert_eq!(denied.empty_at.0 == 95, exceeds, "{cost} {max_wait}");
        }
    }

    #[test]
    fn a_proposal_is_granted_and_charged_at_its_own_instant_or_now() {
        let step = Step::new(3, 10);
        for (first, empty_at) in [(92, 93), (93, 93), (120, 120)] {
            let outcome = step.decide_first(Some(Timestamp(first)), NOW);
            assert!(outcome.granted());
            assert_eq!((outcome.empty_at.0, outcome.now), (empty_at, NOW));
        }
        assert_eq!(
            step.decide_first(None, NOW),
            step.decide(Timestamp::ZERO, NOW)
        );
        let peek = step.dry().decide_first(Some(Timestamp(120)), NOW);
        assert_eq!(peek, step.dry().decide(Timestamp::ZERO, NOW));
        let never = Step::new(11, 10).decide_first(Some(Timestamp(90)), NOW);
        assert_eq!(never.verdict, Verdict::Denied(Denial::ExceedsCapacity));
    }

    #[test]
    fn a_floor_leaves_tokens_in_the_bucket() {
        let step = Step {
            max_wait: -4,
            ..Step::new(3, 10)
        };
        let at = Timestamp;
        assert_eq!(step.decide(at(93), NOW).empty_at, at(96), "it leaves four");
        let denied = step.decide(at(94), NOW);
        assert_eq!(denied.verdict, Verdict::Denied(Denial::Insufficient));
        assert_eq!(step.reason(&denied), Verdict::Denied(Denial::BelowFloor));
        assert_eq!(step.retry_after(at(94), NOW), 1);
        let empty = step.decide(at(98), NOW);
        assert_eq!(step.reason(&empty), empty.verdict);
        for (cost, max_wait, exceeds) in [
            (6, -4, false),
            (7, -4, true),
            (0, -10, false),
            (0, -11, true),
        ] {
            let step = Step {
                cost,
                max_wait,
                ..step
            };
            assert_eq!(step.exceeds_capacity(), exceeds);
            assert_eq!(step.decide(Timestamp::ZERO, NOW).granted(), !exceeds);
            assert_eq!(step.dry().decide(at(85), NOW).granted(), !exceeds);
        }
    }
}
