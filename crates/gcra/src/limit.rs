//! The limit: a capacity and a rate in whole ticks.
//!
//! Invariant of every `Limit`: `1 <= span <= MAX_SPAN`, and the cost of any amount up to the
//! capacity is at most `span`. So the sum of an instant and a few spans fits into 64 bits.

#[cfg(test)]
mod tests;

use crate::clock::{EPOCH, TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Ticks};
use crate::grain::Grain;
use crate::step::Step;
use crate::tokens::{AmountError, Tokens};

/// The greatest span in ticks: 2^60 ns (36 years).
pub const MAX_SPAN: Ticks = EPOCH.0;

/// The greatest rate: 10^15 tokens a second.
const MAX_RATE: i64 = 1_000_000_000_000_000;

/// The least number of grains in a unit. In a smaller unit, rounding could change the rate by more
/// than 0.1 %.
const LEAST_UNIT: u64 = 1_000;

/// A validated capacity and rate.
///
/// The rate is kept as `unit`: the ticks in which `group` tokens are added, rounded up. So the
/// effective rate is never above the requested rate, and less than 0.1 % below it.
///
/// A double is seldom exactly the rate that is meant. For example, 10.0 / 60.0 is a little less
/// than a sixth. So if the rate is the double nearest to `group` tokens in a whole number of
/// grains, `unit` is that number of grains. Then `unit` may be less than the exact quotient, but by
/// less than a double's rounding.
///
/// `group` is the least power of ten for which `unit` is at least 1000 grains. Up to a million
/// tokens a second, `group` is 1. Then every token costs exactly `unit`, and a full bucket of n
/// tokens grants exactly n.
///
/// In a store whose [`Grain`] is a microsecond, `unit`, every cost and the span are whole
/// microseconds. There, `group` is 1 up to a thousand tokens a second.
///
/// Worked example: 10 tokens, 3 a second. `unit = ceil(10^9 / 3) = 333,333,334 ns`, `span = 10 *
/// unit = 3,333,333,340 ns`. A full bucket grants ten single tokens, and then one token every
/// 333,333,334 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    unit: Ticks,
    group: u64,
    grain: Grain,
    /// True if `unit` was rounded up.
    is_rounded: bool,
    /// The seconds of the window at whose start the bucket becomes full, or 0.
    window: u32,
    span: Ticks,
    capacity: Tokens,
    whole_capacity: u64,
}

/// The reason why a capacity and a rate are not a valid limit. The PHP extension writes the
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitError {
    /// The capacity is not a valid amount.
    Capacity(AmountError),
    /// The capacity is zero.
    NoCapacity,
    /// The rate is not a valid amount.
    Rate(AmountError),
    /// The rate is zero.
    NoRate,
    /// The rate is above 10^15.
    RateTooHigh,
    /// The bucket would take longer than [`MAX_SPAN`] to refill.
    SpanTooLong,
}

impl Limit {
    /// One token, which refills in a second.
    pub const ONE_A_SECOND: Self = Self {
        unit: TICKS_PER_SECOND,
        group: 1,
        grain: Grain::Nanosecond,
        is_rounded: false,
        window: 0,
        span: TICKS_PER_SECOND,
        capacity: Tokens::ONE,
        whole_capacity: 1,
    };

    /// Returns the limit of at most `capacity` tokens and `rate` tokens a second, for a store that
    /// counts in `grain`. Fails with [`LimitError`] if the capacity or the rate is zero, the rate
    /// is too high or the span is too long.
    pub fn new(capacity: Tokens, rate: Tokens, grain: Grain) -> Result<Self, LimitError> {
        let is_too_high = Tokens::from_int(MAX_RATE).is_ok_and(|greatest| rate > greatest);
        if is_too_high && !capacity.is_zero() {
            return Err(LimitError::RateTooHigh);
        }
        Self::refilling(capacity, rate, TICKS_PER_SECOND, grain)
    }

    /// Returns the limit of at most `capacity` tokens, refilled in a `span` of ticks, for a store
    /// that counts in `grain`.
    ///
    /// The time per token is computed from the span directly, and not from a rounded rate. For
    /// example, each of 7 tokens a minute costs a seventh of a minute, rounded up. Fails with
    /// [`LimitError`] if the capacity is zero or the span is too long. Fails with
    /// [`LimitError::RateTooHigh`] if the span is 0 or too short.
    pub fn within(capacity: Tokens, span: Ticks, grain: Grain) -> Result<Self, LimitError> {
        Self::refilling(capacity, capacity, span, grain)
    }

    /// Returns the limit of at most `capacity` tokens, to which `added` tokens are added in each
    /// `span` of ticks, for a store that counts in `grain`. Fails with the errors of
    /// [`Limit::within`], and [`LimitError::NoRate`] if no tokens are added.
    pub fn refilling(
        capacity: Tokens,
        added: Tokens,
        span: Ticks,
        grain: Grain,
    ) -> Result<Self, LimitError> {
        if capacity.is_zero() {
            return Err(LimitError::NoCapacity);
        }
        if added.is_zero() {
            return Err(LimitError::NoRate);
        }
        // Finds the least group of tokens whose refill takes at least LEAST_UNIT grains, and the
        // time that this refill takes. At MAX_RATE tokens a second, a group is 10^9 tokens, or
        // 10^12 if a grain is a microsecond.
        let mut group = 1;
        while group <= 1_000_000_000_000 {
            let grains = grain.count(span).checked_mul(group);
            let unit = grains.and_then(|grains| grain.unit(added, grains));
            // `None` means an overflow: the span is too long, or so many tokens are added that no
            // group is large enough.
            let (unit, is_rounded) = unit.ok_or(LimitError::SpanTooLong)?;
            if unit >= LEAST_UNIT {
                let limit = Self::of_unit(capacity, unit, group, grain);
                let limit = limit.ok_or(LimitError::SpanTooLong)?;
                return Ok(Self {
                    is_rounded,
                    ..limit
                });
            }
            group *= 10;
        }
        Err(LimitError::RateTooHigh)
    }

    /// Returns the limit of `number` tokens in each window. A token costs a microsecond in every
    /// store, so the state counts the tokens that were taken in a window. A part of a token costs
    /// as much as a whole one. Fails with [`LimitError::NoCapacity`] if the number is 0. Fails with
    /// [`LimitError::SpanTooLong`] if the number exceeds the number of microseconds in the shortest
    /// window, which is `shortest` seconds long.
    pub fn counting(number: u64, shortest: u32) -> Result<Self, LimitError> {
        let capacity = i64::try_from(number).ok().map(Tokens::from_int);
        let capacity = capacity.and_then(Result::ok).filter(|it| !it.is_zero());
        let capacity = capacity.ok_or(LimitError::NoCapacity)?;
        let limit = Self::of_unit(capacity, 1, 1, Grain::Microsecond);
        limit
            .filter(|it| it.span <= Ticks::from(shortest) * TICKS_PER_SECOND)
            .map(|it| it.in_window(shortest))
            .ok_or(LimitError::SpanTooLong)
    }

    /// Returns the same limit in a window of this many seconds.
    pub const fn in_window(self, seconds: u32) -> Self {
        Self {
            window: seconds,
            ..self
        }
    }

    /// Returns the length of the window in seconds, or `None` if the bucket has no windows.
    pub fn window(&self) -> Option<u32> {
        Some(self.window).filter(|&seconds| seconds > 0)
    }

    /// Returns the limit that adds `group` tokens in `unit` grains, or `None` if the span is too
    /// long.
    fn of_unit(capacity: Tokens, unit: u64, group: u64, grain: Grain) -> Option<Self> {
        let unit = unit.checked_mul(grain.ticks())?;
        let grains = grain.grains(capacity, unit, group)?;
        let span = grains.checked_mul(grain.ticks())?;
        (span <= MAX_SPAN).then_some(Self {
            unit,
            group,
            grain,
            is_rounded: false,
            window: 0,
            span,
            capacity,
            whole_capacity: capacity.floor(),
        })
    }

    /// Returns the most tokens that the bucket holds.
    pub const fn capacity(&self) -> Tokens {
        self.capacity
    }

    /// Returns the resolution of the store.
    pub const fn grain(&self) -> Grain {
        self.grain
    }

    /// Returns the ticks in which the whole bucket refills.
    pub const fn span(&self) -> Ticks {
        self.span
    }

    /// Returns the ticks in which `tokens` refill, rounded to whole grains as [`Grain`] describes.
    /// Returns `None` if `tokens` exceed the capacity.
    #[inline]
    pub fn cost(&self, tokens: Tokens) -> Option<Ticks> {
        if tokens > self.capacity {
            return None;
        }
        let grains = self.grain.grains(tokens, self.unit, self.group)?;
        // The product is at most the span, because the tokens are at most the capacity.
        Some(grains * self.grain.ticks())
    }

    /// Returns the ticks in which `tokens` refill, rounded as in [`Limit::cost`]. `tokens` may
    /// exceed the capacity. Returns `None` above [`MAX_SPAN`].
    pub fn price(&self, tokens: Tokens) -> Option<Ticks> {
        let grains = self.grain.grains(tokens, self.unit, self.group)?;
        let ticks = grains.checked_mul(self.grain.ticks())?;
        (ticks <= MAX_SPAN).then_some(ticks)
    }

    /// Returns the step that takes `tokens`. If `tokens` exceed the capacity, every bucket denies
    /// the step.
    #[inline]
    pub fn step(&self, tokens: Tokens) -> Step {
        self.step_of(self.cost(tokens))
    }

    /// Returns the step that takes whole `tokens`. The result is that of [`Limit::step`], but this
    /// function is faster.
    #[inline]
    pub fn step_whole(&self, tokens: u64) -> Step {
        self.step_of(self.cost_whole(tokens))
    }

    #[inline]
    fn step_of(&self, cost: Option<Ticks>) -> Step {
        // A cost above the span is never granted. The cost exceeds the span by a whole grain,
        // because a store would round away less than a grain. A span is at most 2^60, so the sum
        // cannot overflow.
        let too_much = self.span + self.grain.ticks();
        Step::new(cost.unwrap_or(too_much), self.span)
    }

    /// Returns the ticks that a refund of `tokens` gives back, rounded down to whole grains. The
    /// result is at most [`MAX_SPAN`]. It may exceed the span, because a bucket in debt may need
    /// more to become full.
    ///
    /// If the result were rounded up like a cost, many small refunds would give back more than one
    /// call has taken.
    pub fn refund(&self, tokens: Tokens) -> Ticks {
        let grains = tokens.scale_down(self.unit, self.group * self.grain.ticks());
        let worth = grains.and_then(|grains| grains.checked_mul(self.grain.ticks()));
        let most = MAX_SPAN - MAX_SPAN % self.grain.ticks();
        worth.map_or(most, |worth| worth.min(most))
    }

    /// Returns the cost of whole `tokens` in ticks. The result is that of [`Limit::cost`], but this
    /// function is faster.
    #[inline]
    pub fn cost_whole(&self, tokens: u64) -> Option<Ticks> {
        if tokens > self.whole_capacity {
            return None;
        }
        if self.group == 1 {
            // `tokens` is at most the capacity, so the product is at most the span, 2^60.
            return Some(tokens * self.unit);
        }
        let grain = self.grain.ticks();
        // The span bounds tokens * unit by 2^60 * 10^12.
        let cost = u128::from(tokens) * u128::from(self.unit);
        let grains = u64::try_from(cost.div_ceil(u128::from(self.group * grain))).ok()?;
        // The cost is at most the span.
        Some(grains * grain)
    }

    /// Returns the whole tokens that refill in `available` ticks, at most the capacity.
    ///
    /// A call for `n` whole tokens is granted exactly if `n <= tokens(available)`.
    pub fn tokens(&self, available: Ticks) -> u64 {
        let available = available.min(self.span);
        // Costs are whole grains, so a part of a grain adds no token.
        let available = available - available % self.grain.ticks();
        if self.group == 1 {
            // A division of 64 bits is faster.
            return (available / self.unit).min(self.whole_capacity);
        }
        let tokens = u128::from(available) * u128::from(self.group) / u128::from(self.unit);
        u64::try_from(tokens).map_or(self.whole_capacity, |tokens| {
            tokens.min(self.whole_capacity)
        })
    }

    /// Returns the whole tokens that a bucket owes if its debt is `debt` ticks, rounded up.
    pub fn tokens_owed(&self, debt: Ticks) -> u64 {
        let tokens = (u128::from(debt) * u128::from(self.group)).div_ceil(u128::from(self.unit));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// Returns the ticks in which `tokens` whole tokens refill, at most the span. HTTP fields call
    /// this a window.
    pub fn refill(&self, tokens: u64) -> Ticks {
        self.cost_whole(tokens).unwrap_or(self.span)
    }

    /// Returns the most ticks by which a time of `ticks` became longer because the time per token
    /// was rounded up. The result is less than 0.1 % of `ticks` plus one grain.
    pub const fn rounding(&self, ticks: Ticks) -> Ticks {
        if self.is_rounded {
            // A unit is at least 1000 grains, so this cannot overflow.
            (ticks / self.unit + 1) * self.grain.ticks()
        } else {
            0
        }
    }

    /// Returns the part of a time of `ticks` that HTTP fields ignore, in ticks. This is the
    /// rounding, and at least a microsecond, because the reply itself takes longer. Returns 0 on a
    /// fake clock, which stands still until a test advances it.
    pub fn ignored(&self, ticks: Ticks) -> Ticks {
        match self.grain {
            Grain::FakeNanosecond => 0,
            _ => self.rounding(ticks).max(TICKS_PER_MICROSECOND),
        }
    }

    /// Returns a time of `ticks` in whole seconds, rounded up, for HTTP fields. Rounding the time
    /// per token must not turn a minute into 61 seconds, so [`Limit::ignored`] is subtracted first.
    pub fn whole_seconds(&self, ticks: Ticks) -> u64 {
        let span = ticks.saturating_sub(self.ignored(ticks));
        span.div_ceil(TICKS_PER_SECOND)
    }
}
