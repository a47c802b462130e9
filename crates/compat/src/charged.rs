//! The step of limiters that allow a number of calls in a window, and also count denied calls.
//!
//! A denied call adds to the debt of the bucket, but the debt stays below one window. A client that
//! keeps calling stays denied. A client that stops is granted a call after at most one window.

use gcra::{Grain, MAX_SPAN, Step, Ticks};

/// The parts of one call, so that `calls` may have a fraction.
const PARTS: u128 = 1_000_000_000;
/// The most calls in a window.
const MOST_CALLS: f64 = 1e9;

/// Returns the step of one call if `calls` are allowed in `window` ticks. Both must be more than 0.
/// If `calls` is less than 1, the step is never granted.
///
/// Worked example: 5 calls in 300 s cost 60 s each. Denied calls raise the debt to at most 240 s.
pub fn charged(calls: f64, window: Ticks, grain: Grain) -> Step {
    let grain = grain.ticks();
    // The product is at most 10^18, and not negative because `calls` is more than 0.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let parts = ((calls.min(MOST_CALLS) * PARTS as f64) as u128).max(1);
    let most = MAX_SPAN - MAX_SPAN % grain;
    let whole = |ticks: u128| {
        let ticks = Ticks::try_from(ticks).map_or(most, |ticks| ticks.min(most));
        // This does not overflow, because `most` is a multiple of the grain.
        ticks.next_multiple_of(grain)
    };
    // The dividend is at most 2^64 * 10^9.
    let cost = whole((u128::from(window) * PARTS).div_ceil(parts).max(1));
    // Use the rounded cost, so that the span of n calls is n costs.
    let span = whole((u128::from(cost) * parts).div_ceil(PARTS));
    Step {
        max_debt: span.saturating_sub(cost).max(grain),
        ..Step::new(cost, span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcra::{TICKS_PER_SECOND as S, Timestamp};

    #[test]
    fn the_worked_example_holds() {
        let step = charged(5.0, 300 * S, Grain::Nanosecond);
        assert_eq!(
            (step.cost, step.span, step.max_debt),
            (60 * S, 300 * S, 240 * S)
        );
        let (mut empty_at, now) = (Timestamp::ZERO, Timestamp(10_000 * S));
        for call in 1..20 {
            let outcome = step.decide(empty_at, now);
            assert_eq!(outcome.granted(), call <= 5);
            empty_at = outcome.empty_at;
        }
        assert_eq!(step.retry_after(empty_at, now), 300 * S);
    }

    #[test]
    fn n_calls_are_granted_at_once() {
        for calls in [1u32, 2, 3, 7, 1000, 999_999, 1_000_000_000] {
            for grain in [Grain::Nanosecond, Grain::Microsecond] {
                let step = charged(f64::from(calls), 60 * S, grain);
                let granted = step.span / step.cost;
                assert_eq!(granted, u64::from(calls));
                assert_eq!(
                    (step.span % grain.ticks(), step.cost % grain.ticks()),
                    (0, 0)
                );
            }
        }
        let all = charged(f64::INFINITY, 60 * S, Grain::Nanosecond);
        assert_eq!(all.span / all.cost, 1_000_000_000);
        let half = charged(0.5, 60 * S, Grain::Nanosecond);
        assert!(half.cost > half.span);
        let long = charged(1.0, MAX_SPAN, Grain::Microsecond);
        assert!(long.span <= MAX_SPAN && long.cost == long.span);
    }
}
