//! The naive models of a bucket and its limit, in exact fractions of tokens.
//!
//! The models follow the definitions and not the code. They have no `empty_at` and share no
//! arithmetic with the code. They model the limit after rounding, because the rounded rate is part
//! of the contract.

use gcra::{Ticks, Timestamp};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use std::num::NonZero;

/// An exact fraction.
pub type Exact = BigRational;

/// Returns the exact value of a double.
pub fn exact(number: f64) -> Exact {
    Exact::from_float(number).expect("finite")
}

/// Returns a whole number as a fraction.
pub fn whole(number: impl Into<BigInt>) -> Exact {
    Exact::from_integer(number.into())
}

/// A limit after rounding. `per_tick` tokens are added in each tick, and the bucket holds the
/// tokens of `span` ticks.
#[derive(Clone, Debug)]
pub struct Refill {
    /// The tokens that are added in a tick.
    pub per_tick: Exact,
    /// The span of the bucket, in whole ticks.
    pub span: Exact,
    capacity: Exact,
}

/// Returns the least group of 1, 10, 100 ... tokens whose refill takes 1000 ticks or more, and the
/// ticks of this refill, not rounded. If the rate is the double that is nearest to one group in a
/// whole number of ticks, that number is used.
fn meant(rate: f64) -> (Exact, Exact) {
    let mut group = whole(1_000_000_000);
    loop {
        let unit = &group / exact(rate);
        let named = unit.round();
        let is_named = named < whole(1u64 << 51)
            && !named.is_zero()
            && (&group / &named).to_f64() == Some(rate);
        let unit = if is_named { named } else { unit };
        if unit.ceil() >= whole(1000) {
            return (group / whole(1_000_000_000), unit);
        }
        group *= whole(10);
    }
}

/// Returns the tokens that a rate adds in each tick, before the limit is rounded. The difference
/// from the double is less than the rounding of a double.
pub fn per_tick(rate: f64) -> Exact {
    let (group, unit) = meant(rate);
    let per_tick = group / unit;
    let asked = |rate: f64| exact(rate) / whole(1_000_000_000);
    assert!(per_tick > asked(rate.next_down()) && per_tick < asked(rate.next_up()));
    per_tick
}

impl Refill {
    /// Creates a limit. Rounds the time in which a group of tokens refills up to whole ticks.
    pub fn new(capacity: f64, rate: f64) -> Self {
        let (group, unit) = meant(rate);
        let per_tick = group / unit.ceil();
        Self {
            span: (exact(capacity) / &per_tick).ceil(),
            per_tick,
            capacity: exact(capacity),
        }
    }

    /// Returns the ticks in which `tokens` are added, rounded up.
    pub fn cost(&self, tokens: &Exact) -> Exact {
        (tokens / &self.per_tick).ceil()
    }

    /// Returns the whole tokens that are added in `available` ticks.
    pub fn remaining(&self, available: Ticks) -> Exact {
        let ticks = whole(available).min(self.span.clone());
        (ticks * &self.per_tick).min(self.capacity.clone()).floor()
    }
}

/// A request for tokens: the model of a step.
#[derive(Debug)]
pub struct Draw<'a> {
    /// The limit of this caller.
    pub refill: &'a Refill,
    pub tokens: Exact,
    /// The drain tick: tokens are added only at multiples of this number of ticks.
    pub tick: NonZero<Ticks>,
    /// The greatest debt in ticks up to which denied calls are charged.
    pub max_debt: Ticks,
    /// The ticks of refill that are lent to a call, or, if negative, that a call must leave.
    pub max_wait: i64,
    /// True for a request that changes nothing.
    pub dry: bool,
}

/// A bucket that counts its tokens.
#[derive(Debug, Default)]
pub struct Bucket(Option<Level>);

/// The number of tokens at the instant `at`, for a caller whose rate is `per_tick`.
#[derive(Clone, Debug)]
struct Level {
    tokens: Exact,
    per_tick: Exact,
    at: Exact,
}

impl Level {
    /// Returns the level at the later instant `at`, for a caller whose rate is `per_tick`. In ticks
    /// of refill, the level does not depend on the rate of the caller.
    fn seen(&self, per_tick: &Exact, at: &Exact) -> Self {
        let ticks = &self.tokens / &self.per_tick + (at - &self.at);
        Self {
            tokens: ticks * per_tick,
            per_tick: per_tick.clone(),
            at: at.clone(),
        }
    }
}

impl Bucket {
    /// Applies a request at the instant `now`. Returns whether the request is granted.
    pub fn draw(&mut self, draw: &Draw<'_>, now: Timestamp) -> bool {
        let per_tick = &draw.refill.per_tick;
        let full = &draw.refill.span * per_tick;
        let drained = whole(now.floor(draw.tick.get()).0);
        let before = self.0.as_ref().map(|level| level.seen(per_tick, &drained));
        let held = match &before {
            Some(level) => level.tokens.clone().min(full),
            None => full,
        };
        // The price is rounded up to whole ticks of refill, so it may exceed the requested tokens.
        let price = draw.refill.cost(&draw.tokens) * per_tick;
        let lent = whole(draw.max_wait) * per_tick;
        let granted = price <= &held + lent;
        let is_free = price.is_zero();
        let mut left = held - price;
        if !granted {
            if draw.max_debt == 0 {
                return false;
            }
            let owed_most = (whole(draw.max_debt) + whole(now.0) - &drained) * per_tick;
            left = left.max(-owed_most);
            if before.is_some_and(|level| level.tokens <= left) {
                return false;
            }
        }
        if !draw.dry && !is_free {
            self.0 = Some(Level {
                tokens: left,
                per_tick: per_tick.clone(),
                at: drained,
            });
        }
        granted
    }

    /// Puts tokens back, up to a full bucket.
    pub fn refund(&mut self, refill: &Refill, tokens: &Exact, now: Timestamp) {
        let Some(level) = &self.0 else { return };
        let mut level = level.seen(&refill.per_tick, &whole(now.0));
        let full = &refill.span * &refill.per_tick;
        if level.tokens < full {
            level.tokens = (level.tokens + refill.cost(tokens) * &refill.per_tick).min(full);
            self.0 = Some(level);
        }
    }

    /// Returns the instant at which the bucket was empty, or 0 if nothing was ever drawn.
    pub fn was_empty_at(&self) -> Exact {
        self.0.as_ref().map_or_else(Exact::zero, |level| {
            &level.at - &level.tokens / &level.per_tick
        })
    }
}
