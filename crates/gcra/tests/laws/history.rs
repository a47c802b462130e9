//! Random limits and random histories of calls on a bucket.
//!
//! Random times are fractions of the times of the limit with which they are used. So calls are
//! often made just before and just after an instant at which the verdict changes.

use crate::model::{Exact, Refill, exact, per_tick};
use gcra::limit::MAX_SPAN;
use gcra::{Grain, Limit, Step, Ticks, Tokens};
use proptest::prelude::*;
use std::num::NonZero;

/// A capacity in tokens and a rate in tokens a second, as a caller requests them.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub capacity: f64,
    pub rate: f64,
}

impl Asked {
    pub fn limit(self) -> Limit {
        self.checked().expect("drawn from valid ones")
    }

    fn checked(self) -> Option<Limit> {
        let (capacity, rate) = (tokens(self.capacity), tokens(self.rate));
        Limit::new(capacity, rate, Grain::Nanosecond).ok()
    }

    pub fn refill(self) -> Refill {
        Refill::new(self.capacity, self.rate)
    }

    pub fn exact_capacity(self) -> Exact {
        exact(self.capacity)
    }

    /// Returns the tokens that the rate adds in each tick, before the limit is rounded.
    pub fn per_tick(self) -> Exact {
        per_tick(self.rate)
    }
}

/// Converts a double to the same amount of tokens.
pub fn tokens(amount: f64) -> Tokens {
    Tokens::from_float(amount).expect("an amount")
}

/// Yields rates of all orders of magnitude: random doubles between `10^least` and `10^most`, whole
/// numbers, reciprocals of whole numbers, and `10^most` itself.
fn rates(least: f64, most: f64) -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (least..most).prop_map(|magnitude| 10f64.powf(magnitude)),
        2 => (0.0..most).prop_map(|magnitude| 10f64.powf(magnitude).round()),
        2 => (1.0..5e3).prop_map(|seconds| 1.0 / f64::round(seconds)),
        1 => Just(10f64.powf(most)),
    ]
}

/// Yields capacities of whole tokens, mostly small capacities.
fn whole_capacities() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (1u32..20).prop_map(f64::from),
        2 => (1u32..3000).prop_map(f64::from),
        1 => any::<u32>().prop_map(|n| f64::from(n.max(1))),
    ]
}

fn valid(asked: impl Strategy<Value = (f64, f64)>) -> impl Strategy<Value = Asked> {
    asked.prop_filter_map("refills within 2^60 ns", |(capacity, rate)| {
        let asked = Asked { capacity, rate };
        asked.checked().map(|_| asked)
    })
}

/// Yields limits with a whole capacity and at most a million tokens a second. Every token of such a
/// limit costs the same.
pub fn even_quotas() -> impl Strategy<Value = Asked> {
    valid((whole_capacities(), rates(-4.0, 6.0)))
}

/// Yields limits of all kinds. The capacity may be a fraction, and a token may cost a fraction of a
/// tick.
pub fn any_quotas() -> impl Strategy<Value = Asked> {
    let fractions = (-3.0..6.0).prop_map(|magnitude| 10f64.powf(magnitude));
    let capacities = prop_oneof![whole_capacities(), fractions];
    valid((capacities, rates(-4.0, 15.0)))
}

/// A length of time, as a fraction of a time of the limit with which it is used.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Ticks(Ticks),
    /// Eighths of the cost of one token, plus a number of ticks, which may be negative.
    OfToken(u64, i64),
    OfSpan(u64),
}

impl Part {
    /// Returns the length of time in ticks, at most `most`.
    pub fn of(self, limit: &Limit, most: Ticks) -> Ticks {
        let token = limit.cost(Tokens::ONE).unwrap_or(limit.span());
        let ticks = match self {
            Self::Ticks(ticks) => ticks,
            Self::OfToken(eighths, more) => {
                (token / 8 * eighths + token % 8 * eighths / 8).saturating_add_signed(more)
            }
            Self::OfSpan(eighths) => limit.span() / 8 * eighths,
        };
        ticks.min(most)
    }
}

fn parts() -> impl Strategy<Value = Part> {
    prop_oneof![
        1 => (0u64..5).prop_map(Part::Ticks),
        // Drain ticks and debts are often worth whole tokens, which is the worst case for an
        // off-by-one error.
        3 => (0u64..4, -1i64..=1).prop_map(|(tokens, more)| Part::OfToken(8 * tokens, more)),
        3 => (0u64..40, -1i64..=1).prop_map(|(eighths, more)| Part::OfToken(eighths, more)),
        2 => (0u64..12).prop_map(Part::OfSpan),
    ]
}

/// The amount of a call, in tokens.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    Whole(u64),
    /// 64ths of the capacity.
    Fraction(u32),
}

impl Amount {
    /// Returns the amount in tokens as a double, at most the capacity.
    pub fn of(self, asked: Asked) -> f64 {
        let most = tokens(asked.capacity).floor();
        match self {
            Self::Whole(_) if most == 0 => asked.capacity,
            Self::Whole(n) => n.min(most) as f64,
            Self::Fraction(parts) => asked.capacity * f64::from(parts) / 64.0,
        }
    }
}

fn amounts(fractions: bool) -> impl Strategy<Value = Amount> {
    let most = if fractions { 3 } else { 0 };
    prop_oneof![
        6 => Just(Amount::Whole(1)),
        3 => (0u64..8).prop_map(Amount::Whole),
        1 => Just(Amount::Whole(u64::MAX)),
        most => (0u32..=64).prop_map(Amount::Fraction),
    ]
}

/// One call, some time after the previous one.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub who: prop::sample::Index,
    pub gap: Part,
    pub amount: Amount,
    pub tick: Part,
    /// The greatest debt that a denied call causes.
    pub max_debt: Part,
    /// The greatest debt that a grant causes, if denied calls cause none.
    pub max_wait: Part,
    /// True if `max_wait` is the floor of the call.
    pub is_floor: bool,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Take,
    Peek,
    Refund,
}

impl Call {
    /// Returns the ticks since the previous call. This number is limited, so that a history of
    /// `calls` calls stays within the clock's range.
    pub fn gap(&self, limit: &Limit, calls: usize) -> Ticks {
        self.gap.of(limit, MAX_SPAN / 2 / calls as u64)
    }

    /// Returns the call's step, without a drain tick or a debt.
    pub fn step(&self, limit: &Limit, asked: Asked) -> Step {
        let wanted = tokens(self.amount.of(asked));
        let step = Step::new(limit.cost(wanted).expect("within capacity"), limit.span());
        if self.kind == Kind::Peek {
            step.dry()
        } else {
            step
        }
    }

    /// Returns the call's drain tick.
    pub fn drain_tick(&self, limit: &Limit) -> NonZero<Ticks> {
        // `now - tick - span` must not be negative.
        let tick = self.tick.of(limit, MAX_SPAN - limit.span());
        NonZero::new(tick).unwrap_or(NonZero::<Ticks>::MIN)
    }

    /// Returns the call's step, with its drain tick and its greatest debt.
    pub fn stern_step(&self, limit: &Limit, asked: Asked) -> Step {
        Step {
            refill: gcra::Refill::every(self.drain_tick(limit)),
            max_debt: self.max_debt.of(limit, MAX_SPAN),
            ..self.step(limit, asked)
        }
    }

    /// Returns the call's step, which waits for its tokens or has a floor if denials are free.
    pub fn patient_step(&self, limit: &Limit, asked: Asked) -> Step {
        let step = self.stern_step(limit, asked);
        let max_wait = if step.max_debt == 0 {
            self.max_wait.of(limit, MAX_SPAN / 64).cast_signed()
        } else {
            0
        };
        // A floor is at most the rest of the capacity.
        let max_wait = if self.is_floor {
            -max_wait.min((limit.span() - step.cost).cast_signed())
        } else {
            max_wait
        };
        Step { max_wait, ..step }
    }
}

/// Yields calls of whole amounts, or of any amounts.
pub fn calls(fractions: bool) -> impl Strategy<Value = Vec<Call>> {
    let free = || Just(Part::Ticks(0));
    let kinds = prop_oneof![
        8 => Just(Kind::Take),
        1 => Just(Kind::Peek),
        1 => Just(Kind::Refund),
    ];
    let call = (
        any::<prop::sample::Index>(),
        prop_oneof![2 => free(), 3 => parts()],
        amounts(fractions),
        prop_oneof![free(), parts()],
        prop_oneof![free(), parts()],
        (prop_oneof![free(), parts()], any::<bool>()),
        kinds,
    )
        .prop_map(
            |(who, gap, amount, tick, max_debt, (max_wait, is_floor), kind)| Call {
                who,
                gap,
                amount,
                tick,
                max_debt,
                max_wait,
                is_floor,
                kind,
            },
        );
    prop::collection::vec(call, 1..60)
}
