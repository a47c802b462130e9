//! The limit: a capacity and a rate in whole ticks.
//!
//! Invariant of every `Limit`: `1 <= span <= MAX_SPAN`, and the cost of any amount up to the
//! capacity is at most `span`. So the sum of an instant and a few spans fits into 64 bits.

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
        if capacity.is_zero() {
            return Err(LimitError::NoCapacity);
        }
        if rate.is_zero() {
            return Err(LimitError::NoRate);
        }
        if Tokens::from_int(MAX_RATE).is_ok_and(|greatest| rate > greatest) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grain::LEAST_UNNAMED;

    fn limit(capacity: f64, rate: f64) -> Result<Limit, LimitError> {
        quota_of(capacity, rate, Grain::Nanosecond)
    }

    fn quota_of(capacity: f64, rate: f64, grain: Grain) -> Result<Limit, LimitError> {
        let tokens = |amount| Tokens::from_float(amount).unwrap();
        Limit::new(tokens(capacity), tokens(rate), grain)
    }

    #[test]
    fn the_worked_example_holds() {
        let limit = limit(10.0, 3.0).unwrap();
        assert_eq!(limit.cost(Tokens::ONE), Some(333_333_334));
        assert_eq!(limit.span(), 3_333_333_340);
        assert_eq!(limit.tokens(limit.span()), 10);
        assert_eq!(limit.tokens(333_333_333), 0);
    }

    #[test]
    fn coarse_quotas_are_whole_microseconds() {
        for (capacity, rate) in [(10.0, 3.0), (1e6, 1e7), (2.5, 1e12), (1e12, 1e15)] {
            let tokens = |n| Tokens::from_float(n).unwrap();
            let limit = quota_of(capacity, rate, Grain::Microsecond).unwrap();
            assert_eq!(limit.span() % 1_000, 0);
            for n in [1u64, 2, 3, 9, 10, 999_999] {
                let Some(cost) = limit.cost_whole(n) else {
                    continue;
                };
                assert_eq!(cost % 1_000, 0, "{capacity} {rate} {n}");
                assert_eq!(limit.cost(tokens(n as f64)), Some(cost));
                assert!(
                    limit.tokens(cost) >= n && limit.tokens(cost - 1) < n.max(limit.tokens(cost))
                );
                // The rate is never faster than requested, and less than 0.1 % slower.
                let exact = n as f64 / rate * 1e9;
                assert!(cost as f64 >= exact && (cost as f64) < exact * 1.001 + 1_000.0);
            }
        }
    }

    #[test]
    fn a_span_holds_its_tokens() {
        let within = |tokens: i64, span, grain| {
            Limit::within(Tokens::from_int(tokens).unwrap(), span, grain).unwrap()
        };
        let minute = 60 * TICKS_PER_SECOND;
        let limit = within(30, minute, Grain::Microsecond);
        assert_eq!(limit.cost_whole(1), Some(2_000_000_000));
        assert_eq!(limit.span(), minute);
        let limit = within(7, minute, Grain::Nanosecond);
        assert_eq!(limit.cost_whole(1), Some(8_571_428_572));
        assert_eq!(limit.span(), 60_000_000_004);
        let limit = within(5_000_000, TICKS_PER_SECOND, Grain::Microsecond);
        assert_eq!(limit.cost_whole(5), Some(1_000));
        assert_eq!(limit.span(), TICKS_PER_SECOND);
        let none = Limit::within(Tokens::ONE, 0, Grain::Nanosecond);
        assert_eq!(none, Err(LimitError::RateTooHigh));
    }

    #[test]
    fn a_rate_means_the_whole_grains_that_it_is_nearest_to() {
        // A sixth is not a double. 10.0 / 60.0 is a little less.
        let sixth = limit(10.0, 10.0 / 60.0).unwrap();
        assert_eq!(sixth.cost_whole(1), Some(6_000_000_000));
        assert_eq!(sixth.rounding(sixth.span()), 0);
        // The rate of three tokens a second is exact, but the cost of a token is not a whole number
        // of nanoseconds.
        let third = limit(3.0, 3.0).unwrap();
        assert_eq!(third.cost_whole(1), Some(333_333_334));
        assert_eq!(third.rounding(third.span()), 4);
        // The next double after a sixth is used as it is.
        let above = limit(10.0, (1f64 / 6.0).next_up()).unwrap();
        let below = limit(10.0, (1f64 / 6.0).next_down()).unwrap();
        assert_eq!(above.cost_whole(1), Some(6_000_000_000));
        assert_eq!(below.cost_whole(1), Some(6_000_000_001));
        // The first rate is ten tokens in three microseconds. The second one is a token in 7.5
        // microseconds, in a remote store.
        assert_eq!(limit(10.0, 1e7 / 3.0).unwrap().span(), 3_000);
        let coarse = quota_of(1000.0, 1e6 / 7.5, Grain::Microsecond).unwrap();
        assert_eq!(coarse.span(), 7_500_000);
    }

    #[test]
    fn a_fake_clock_rounds_down() {
        let fake = |capacity, rate| quota_of(capacity, rate, Grain::FakeNanosecond).unwrap();
        assert_eq!(fake(3.0, 3.0).cost_whole(1), Some(333_333_333));
        assert_eq!(fake(3.0, 3.0).span(), 999_999_999);
        assert_eq!(fake(3.0, 3.0).whole_seconds(999_999_999), 1);
        assert_eq!(fake(3.0, 3.0).whole_seconds(1_000_000_001), 2);
        assert_eq!(fake(10.0, 10.0 / 60.0).span(), 60_000_000_000);
        // At a rate of a token in 30 days, neighbouring doubles differ by more than a nanosecond
        // per token.
        for n in 1..=1000 {
            let limit = fake(f64::from(n), f64::from(n) / 2_592_000.0);
            assert!(limit.span() <= 2_592_000_000_000_000, "{n} in 30 days");
        }
    }

    #[test]
    fn a_full_bucket_on_a_fake_clock_grants_all_its_fractions() {
        for capacity in [1u32, 2, 5, 10, 100] {
            for (parts, period) in [
                (2u32, 60.0),
                (3, 60.0),
                (7, 3600.0),
                (10, 86400.0),
                (100, 1.0),
            ] {
                let cost = Tokens::from_float(1.0 / f64::from(parts)).unwrap();
                let rate = f64::from(capacity) / period;
                let limit = quota_of(f64::from(capacity), rate, Grain::FakeNanosecond).unwrap();
                let calls = limit.span() / limit.cost(cost).unwrap();
                assert_eq!(
                    calls,
                    u64::from(capacity * parts),
                    "{capacity} {parts} {period}"
                );
                assert_eq!(limit.refund(cost), limit.cost(cost).unwrap());
                assert_eq!(limit.cost(limit.capacity()), Some(limit.span()));
            }
        }
        let limit = quota_of(1.0, 1e6, Grain::FakeNanosecond).unwrap();
        let least = Tokens::from_float(1e-9).unwrap();
        assert_eq!(limit.cost(least), Some(1), "no token is free");
        assert_eq!(limit.cost(Tokens::ZERO), Some(0));
    }

    #[test]
    fn whole_seconds_ignore_only_what_rounding_has_added() {
        // Two million tokens at a thousand a second take exactly 2000 seconds.
        let long = quota_of(2e6, 1e3, Grain::Microsecond).unwrap();
        assert_eq!(long.whole_seconds(long.span()), 2000);
        let minute = quota_of(7.0, 7.0 / 60.0, Grain::Microsecond).unwrap();
        assert_eq!(minute.span(), 60_000_003_000);
        assert_eq!(minute.whole_seconds(minute.span()), 60);
        assert_eq!(minute.whole_seconds(60_000_010_000), 61);
    }

    #[test]
    fn senseless_quotas_are_refused() {
        assert_eq!(limit(0.0, 1.0), Err(LimitError::NoCapacity));
        assert_eq!(limit(1.0, 0.0), Err(LimitError::NoRate));
        assert_eq!(limit(1.0, 2e15), Err(LimitError::RateTooHigh));
        assert_eq!(limit(1.0, 1e-300), Err(LimitError::SpanTooLong));
        assert_eq!(limit(1e300, 1e15), Err(LimitError::SpanTooLong));
        assert_eq!(limit(1e10, 1.0), Err(LimitError::SpanTooLong));
    }

    #[test]
    fn a_fraction_above_the_capacity_has_no_cost() {
        let limit = limit(1.000_05, 1e6).unwrap();
        assert!(limit.cost(Tokens::from_float(1.000_09).unwrap()).is_none());
        assert!(limit.cost(Tokens::from_float(1.000_05).unwrap()).is_some());
    }

    #[test]
    fn a_price_may_exceed_the_capacity() {
        let tokens = |amount| Tokens::from_float(amount).unwrap();
        let limit = quota_of(10.0, 1e7, Grain::Microsecond).unwrap();
        assert_eq!(limit.price(tokens(25.0)), Some(3_000));
        let year = quota_of(1.0, 1.0, Grain::Microsecond).unwrap();
        let most = MAX_SPAN / TICKS_PER_SECOND;
        assert_eq!(
            year.price(tokens(most as f64)),
            Some(most * TICKS_PER_SECOND)
        );
        assert_eq!(year.price(tokens(most as f64 + 1.0)), None);
        let exact = Limit::within(Tokens::ONE, MAX_SPAN, Grain::Nanosecond).unwrap();
        assert_eq!(exact.price(Tokens::ONE), Some(MAX_SPAN));
    }

    #[test]
    fn a_step_above_the_capacity_costs_a_grain_more_than_it() {
        for grain in [Grain::Nanosecond, Grain::Microsecond] {
            let limit = quota_of(2.0, 1.0, grain).unwrap();
            let too_much = limit.span() + grain.ticks();
            assert_eq!(limit.step_whole(3), Step::new(too_much, limit.span()));
        }
    }

    #[test]
    fn tokens_owed_are_rounded_up() {
        let limit = limit(10.0, 1e7).unwrap();
        let owed = [(0, 0), (1, 1), (100, 1), (101, 2), (1_000, 10)];
        assert_eq!(owed.map(|(debt, _)| (debt, limit.tokens_owed(debt))), owed);
    }

    #[test]
    fn a_refill_takes_at_most_the_span() {
        let limit = limit(10.0, 2.0).unwrap();
        assert_eq!(limit.refill(3), 3 * TICKS_PER_SECOND / 2);
        assert_eq!(limit.refill(11), limit.span());
    }

    #[test]
    fn a_rate_identifies_no_unit_from_2_51_on() {
        let rounding = |unit: u64| {
            let limit = limit(1.0, 1e9 / unit as f64).unwrap();
            limit.rounding(limit.span())
        };
        assert_eq!(rounding(LEAST_UNNAMED - 1), 0);
        assert_eq!(rounding(LEAST_UNNAMED), 2);
    }

    #[test]
    fn refunds_of_parts_return_no_more_than_was_taken() {
        let limit = limit(1000.0, 4e9).unwrap();
        let taken = limit.cost(Tokens::from_int(1000).unwrap()).unwrap();
        assert!(1000 * limit.refund(Tokens::ONE) <= taken);
        assert_eq!(limit.refund(Tokens::from_int(1000).unwrap()), taken);
        assert_eq!(limit.refund(Tokens::from_float(1e300).unwrap()), MAX_SPAN);
        // A store in microseconds gives back whole microseconds.
        let coarse = quota_of(1000.0, 1e4, Grain::Microsecond).unwrap();
        assert_eq!(coarse.refund(Tokens::from_int(5).unwrap()), 500_000);
        let most = coarse.refund(Tokens::from_float(1e300).unwrap());
        assert_eq!(most, MAX_SPAN / 1_000 * 1_000);
    }
}
