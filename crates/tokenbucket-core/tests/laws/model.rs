//! The naive models: a bucket that is refilled and drawn from, in exact fractions of tokens.
//!
//! Written from the definitions, not from the code: no `empty_at`, no shared arithmetic. What is
//! modelled is the quantised quota, because the rate that the code keeps is part of its contract.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};
use tokenbucket_core::Ticks;

/// An exact fraction.
pub type Exact = BigRational;

/// The fraction that a double stands for.
pub fn exact(number: f64) -> Exact {
    Exact::from_float(number).expect("finite")
}

/// A whole number as a fraction.
pub fn whole(number: impl Into<BigInt>) -> Exact {
    Exact::from_integer(number.into())
}

/// A quantised quota: tokens come at `per_tick`, and the bucket holds `burst` ticks of them.
#[derive(Clone, Debug)]
pub struct Refill {
    /// Tokens a tick.
    pub per_tick: Exact,
    /// The span that the whole bucket refills in, in whole ticks.
    pub burst: Exact,
    capacity: Exact,
}

impl Refill {
    /// The least power of ten of tokens that takes 1000 ticks or more comes in whole ticks.
    pub fn new(capacity: f64, rate: f64) -> Self {
        let ticks_a_second = whole(1_000_000_000);
        let mut group = Exact::one();
        let mut unit = (&ticks_a_second / exact(rate)).ceil();
        while unit < whole(1000) {
            group *= whole(10);
            unit = (&group * &ticks_a_second / exact(rate)).ceil();
        }
        let per_tick = group / unit;
        Self {
            burst: (exact(capacity) / &per_tick).ceil(),
            per_tick,
            capacity: exact(capacity),
        }
    }

    /// The whole ticks that `tokens` take to come.
    pub fn cost(&self, tokens: &Exact) -> Exact {
        (tokens / &self.per_tick).ceil()
    }

    /// The whole tokens that come in `available` ticks.
    pub fn remaining(&self, available: Ticks) -> Exact {
        let ticks = whole(available).min(self.burst.clone());
        (ticks * &self.per_tick).min(self.capacity.clone()).floor()
    }
}

/// What is asked of the bucket, as a step asks it.
#[derive(Debug)]
pub struct Draw<'a> {
    /// How tokens come to this caller.
    pub refill: &'a Refill,
    /// How many are wanted.
    pub tokens: Exact,
    /// They come at multiples of this only.
    pub tick: Ticks,
    /// Denied calls are charged until this much refill time is owed.
    pub max_debt: Ticks,
    /// Answer only.
    pub dry: bool,
}

/// A bucket that counts its tokens.
#[derive(Debug, Default)]
pub struct Bucket(Option<Level>);

/// How many tokens there were at an instant, for one to whom they come at a rate.
#[derive(Clone, Debug)]
struct Level {
    tokens: Exact,
    per_tick: Exact,
    at: Exact,
}

impl Level {
    /// The same bucket seen later by another: what refills in a tick is a tick's worth to anyone.
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
    /// Draws tokens, or does not.
    pub fn draw(&mut self, draw: &Draw<'_>, now: Ticks) -> bool {
        let per_tick = &draw.refill.per_tick;
        let full = &draw.refill.burst * per_tick;
        let drained = whole(now - now % draw.tick);
        let before = self.0.as_ref().map(|level| level.seen(per_tick, &drained));
        let held = match &before {
            Some(level) => level.tokens.clone().min(full),
            None => full,
        };
        // A price is whole ticks of refill, so more tokens may go than were wanted.
        let price = draw.refill.cost(&draw.tokens) * per_tick;
        let granted = price <= held;
        let mut left = held - price;
        if !granted {
            if draw.max_debt == 0 {
                return false;
            }
            let owed_most = (whole(draw.max_debt) + whole(now) - &drained) * per_tick;
            left = left.max(-owed_most);
            if before.is_some_and(|level| level.tokens <= left) {
                return false;
            }
        }
        if !draw.dry {
            self.0 = Some(Level {
                tokens: left,
                per_tick: per_tick.clone(),
                at: drained,
            });
        }
        granted
    }

    /// Puts tokens back, as many as there is room for.
    pub fn refund(&mut self, refill: &Refill, tokens: &Exact, now: Ticks) {
        let Some(level) = &self.0 else { return };
        let mut level = level.seen(&refill.per_tick, &whole(now));
        let full = &refill.burst * &refill.per_tick;
        if level.tokens < full {
            level.tokens = (level.tokens + refill.cost(tokens) * &refill.per_tick).min(full);
            self.0 = Some(level);
        }
    }

    /// The instant at which it held nothing, or 0 if nobody ever drew.
    pub fn was_empty_at(&self) -> Exact {
        self.0.as_ref().map_or_else(Exact::zero, |level| {
            &level.at - &level.tokens / &level.per_tick
        })
    }
}
