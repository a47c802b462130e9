//! Conversion of seconds, which are doubles in the PHP interface, to whole ticks and back.
//!
//! The storage interface uses seconds. Costs and spans are rounded up, so that a cost is never too
//! small. Waiting times for callers are rounded up, too, so that the wait is long enough.

use crate::clock::{TICKS_PER_SECOND, Ticks};
use crate::grain::Grain;
use crate::limit::MAX_SPAN;
use crate::step::Step;
use crate::tokens::{AmountError, Tokens};

/// Below 2^52 ticks (52 days), neighbouring doubles differ by less than a tick. So each number of
/// ticks has a nearest double of its own.
const DISTINCT: Ticks = 1 << 52;

/// Returns `seconds` in ticks, rounded up, at most [`MAX_SPAN`].
///
/// If `seconds` is the double nearest to a whole number of ticks, that number is returned. For
/// example, 0.01 s is 10^7 ticks, although the double is a little more. Fails with [`AmountError`]
/// for NaN, infinities and negative numbers.
pub fn to_ticks(seconds: f64) -> Result<Ticks, AmountError> {
    rounded(seconds, Tokens::scale_up)
}

/// Implements [`to_ticks`]. `round` is used if `seconds` is not the double nearest to a whole
/// number of ticks.
fn rounded(seconds: f64, round: fn(Tokens, u64, u64) -> Option<u64>) -> Result<Ticks, AmountError> {
    let exact = Tokens::from_float(seconds)?;
    // An exact comparison of doubles is intended here.
    #[allow(clippy::float_cmp)]
    let is_nearest = |ticks: f64| ticks / TICKS_PER_SECOND as f64 == seconds;
    let nearest = (seconds * TICKS_PER_SECOND as f64).round();
    // From 2^22 seconds on, the rounded product may be one tick too small or too great.
    let named = [nearest, nearest - 1.0, nearest + 1.0]
        .into_iter()
        .find(|&ticks| is_nearest(ticks));
    if let Some(ticks) = named.filter(|&ticks| ticks < MAX_SPAN as f64) {
        // The number is whole, not negative and below 2^60.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        return Ok(ticks as Ticks);
    }
    let ticks = round(exact, TICKS_PER_SECOND, 1);
    Ok(ticks.map_or(MAX_SPAN, |ticks| ticks.min(MAX_SPAN)))
}

/// Returns `floor(amount * factor / divisor)`, but at least 1, so that no cost becomes 0.
fn down(amount: Tokens, factor: u64, divisor: u64) -> Option<u64> {
    amount.scale_down(factor, divisor).map(|ticks| ticks.max(1))
}

/// Returns `ticks` in seconds: the least double that [`to_ticks`] does not convert to fewer ticks.
pub fn from_ticks(ticks: Ticks) -> f64 {
    if ticks < DISTINCT {
        return ticks as f64 / TICKS_PER_SECOND as f64;
    }
    // Negative seconds count as 0 ticks.
    let reached = |seconds| to_ticks(seconds).unwrap_or(0);
    let wanted = ticks.min(MAX_SPAN);
    let mut seconds = ticks as f64 / TICKS_PER_SECOND as f64;
    // Beyond 2^53 ticks, the result was rounded twice: in the conversion and in the division. So it
    // may be up to two doubles too small or too great.
    while reached(seconds) < wanted {
        seconds = seconds.next_up();
    }
    while reached(seconds.next_down()) > wanted {
        seconds = seconds.next_down();
    }
    seconds
}

/// Returns the step for the two times of the storage interface. `cost` is the cost of the call, and
/// `full` is the span of the bucket. Both are in seconds.
///
/// Rounding the two times separately would lose a token, because 1/3 s rounds up to more than a
/// tenth of 10/3 s. So if n rounded costs exceed the full span by at most n grains, the full span
/// becomes n costs, as in a limit. On a fake clock times are rounded down, so the full span may
/// become shorter. Fails with a [`SpanError`] that states whether the cost or the span is invalid.
pub fn to_step(cost: f64, full: f64, grain: Grain) -> Result<Step, SpanError> {
    let is_fake = grain == Grain::FakeNanosecond;
    let grain = grain.ticks();
    let round = if is_fake { down } else { Tokens::scale_up };
    // The result is at most 2^60 plus a grain.
    let whole = |seconds| rounded(seconds, round).map(|ticks| ticks.next_multiple_of(grain));
    let cost_ticks = whole(cost).map_err(SpanError::Cost)?;
    let full_ticks = whole(full).map_err(SpanError::Full)?;
    let ratio = (full / cost).round();
    let mut span = full_ticks;
    if ratio.is_finite() && ratio < MAX_SPAN as f64 {
        // Neither time is negative, so the ratio is at least 0. The ratio is below 2^60.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let costs = ratio as u64;
        if let Some(whole) = costs.checked_mul(cost_ticks)
            && (whole > full_ticks || is_fake)
            // The costs were rounded by less than a grain each. The shift allows for the relative
            // error of the doubles, which is less than 2^-52 each.
            && whole.abs_diff(full_ticks) <= costs.saturating_mul(grain) + (full_ticks >> 51)
        {
            span = whole;
        }
    }
    // The greatest span is rounded down to whole grains.
    let most = MAX_SPAN - MAX_SPAN % grain;
    if cost > full && cost_ticks >= most {
        // Both may be limited to the greatest span. Even then, a full bucket must deny the step.
        return Ok(Step::new(most + grain, span.min(most)));
    }
    Ok(Step::new(cost_ticks.min(most), span.min(most)))
}

/// The part of a step that is not a valid number of seconds: the cost or the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// The cost: the time in which the tokens of the call refill.
    #[error("cost {0}")]
    Cost(AmountError),
    /// The span: the time in which an empty bucket becomes full.
    #[error("full span {0}")]
    Full(AmountError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_less_than_52_days_return_the_same_ticks() {
        // Multiples of an odd number visit all lengths below the limit.
        for n in 0..100_000u64 {
            let ticks = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (12 + n % 52);
            assert_eq!(to_ticks(from_ticks(ticks)), Ok(ticks));
        }
        assert_eq!(to_ticks(from_ticks(DISTINCT - 1)), Ok(DISTINCT - 1));
    }

    #[test]
    fn a_double_means_the_ticks_that_it_is_nearest_to() {
        for ticks in [1, 10_000_000, 20_000_000, 50_000_000, 1_100_000_007] {
            assert_eq!(to_ticks(ticks as f64 / 1e9), Ok(ticks));
        }
        assert_eq!(to_ticks(1.0 / 3.0), Ok(333_333_334));
        assert_eq!(to_ticks(1e300), Ok(MAX_SPAN));
    }

    #[test]
    fn a_full_span_of_n_costs_grants_n() {
        for rate in [3.0, 7.0, 0.3, 11.5, 1e5 / 7.0] {
            for n in [1, 2, 10, 97, 1000u32] {
                for grain in [Grain::Nanosecond, Grain::Microsecond] {
                    let step = to_step(1.0 / rate, f64::from(n) / rate, grain).unwrap();
                    assert_eq!(step.span / step.cost, u64::from(n), "{rate} {n}");
                    assert_eq!(step.span % grain.ticks(), 0);
                }
            }
        }
    }

    #[test]
    fn a_cost_beyond_the_span_is_denied_at_any_size() {
        for grain in [Grain::Nanosecond, Grain::Microsecond] {
            for (cost, full) in [(2.0, 1.5), (2e9, 1.5), (2e9, 1.5e9), (1e300, 1e200)] {
                let step = to_step(cost, full, grain).unwrap();
                assert!(step.exceeds_capacity(), "{cost} {full}");
            }
            let step = to_step(1.5e9, 1.5e9, grain).unwrap();
            assert!(!step.exceeds_capacity());
        }
    }

    #[test]
    fn bad_spans_are_told_apart() {
        let step = |cost, full| to_step(cost, full, Grain::Nanosecond);
        let negative = SpanError::Cost(AmountError::Negative);
        assert_eq!(step(-1.0, 1.0), Err(negative));
        let infinite = SpanError::Full(AmountError::NotFinite);
        assert_eq!(step(1.0, f64::NAN), Err(infinite));
        assert_eq!(step(0.0, 0.0), Ok(Step::new(0, 0)));
    }
}
