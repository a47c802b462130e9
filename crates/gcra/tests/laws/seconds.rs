//! Tests the conversion of seconds: the costs and spans of the storage interface, and waiting times
//! for callers.

use crate::model::{exact, whole};
use crate::tried;
use gcra::limit::MAX_SPAN;
use gcra::seconds::{from_ticks, to_step, to_ticks};
use gcra::{Grain, Ticks};
use num_traits::ToPrimitive;
use proptest::prelude::*;

/// Yields the cost of a token, the span of a bucket of `n` tokens, and `n`. Both times are in
/// seconds, `1 / rate` and `n / rate`, as the userland class computes them.
fn spans() -> impl Strategy<Value = (f64, f64, u64)> {
    let rates = prop_oneof![
        4 => (-8.0..6.0).prop_map(|magnitude| 10f64.powf(magnitude)),
        2 => (1u32..1_000_000).prop_map(f64::from),
        1 => (1.0..1e7).prop_map(|seconds| 1.0 / f64::round(seconds)),
    ];
    let counts = prop_oneof![
        6 => 1u64..50,
        2 => 1u64..100_000,
        1 => 1u64..10_000_000_000,
    ];
    (rates, counts).prop_filter_map("refills within 2^60 ns", |(rate, n)| {
        let (cost, full) = (1.0 / rate, n as f64 / rate);
        (full < 1.15e9).then_some((cost, full, n))
    })
}

proptest! {
    #![proptest_config(tried(12_000))]

    #[test]
    fn n_singles_fit_in_a_full_span_that_is_n_costs((cost, full, n) in spans()) {
        for full in [full, cost * n as f64] {
            let step = to_step(cost, full, Grain::Nanosecond).unwrap();
            prop_assert_eq!(step.span / step.cost, n, "{:?} {}", step, full);
        }
    }

    #[test]
    fn a_step_is_never_too_cheap_and_hardly_too_large(
        (cost, _, _) in spans(),
        costs in 0.01f64..1000.0,
    ) {
        let full = cost * costs;
        let step = to_step(cost, full, Grain::Nanosecond).unwrap();
        let ticks = |seconds| exact(seconds) * whole(1_000_000_000);
        // The double nearest to a whole number of ticks is converted to that number, which may be
        // below the exact value. The result is never below the exact value of the next lower
        // double.
        prop_assert!(whole(step.cost) >= ticks(cost.next_down()) || step.cost == MAX_SPAN);
        prop_assert!(step.span <= MAX_SPAN);
        prop_assert!(whole(step.span) >= ticks(full.next_down()) || step.span == MAX_SPAN);
        let rounding = costs.round().max(1.0);
        // Allows for the rounding of the doubles.
        let spacing = ticks(full) / whole(1u64 << 50);
        prop_assert!(whole(step.span) <= ticks(full) + spacing + exact(rounding) + whole(1));
    }

    #[test]
    fn seconds_become_the_tick_they_name_or_the_next(seconds in 0.0..2e9f64, shift in 0i32..60) {
        let seconds = seconds / f64::from(shift).exp2();
        let ticks = to_ticks(seconds).unwrap();
        let next = (exact(seconds) * whole(1_000_000_000)).ceil();
        if whole(ticks) != next.min(whole(MAX_SPAN)) {
            let named = (whole(ticks) / whole(1_000_000_000)).to_f64();
            prop_assert_eq!(named, Some(seconds), "{} ticks", ticks);
        }
    }

    #[test]
    fn the_double_nearest_to_whole_ticks_means_them(ticks in 0u64..1 << 52, shift in 0u32..52) {
        // The ticks are limited, because from 2^23 seconds on, several ticks have the same nearest
        // double.
        let ticks = ticks >> shift;
        let seconds = (whole(ticks) / whole(1_000_000_000)).to_f64().unwrap();
        prop_assert_eq!(to_ticks(seconds), Ok(ticks));
    }

    #[test]
    fn told_seconds_are_enough_and_tight(ticks in 0..=MAX_SPAN, shift in 0u32..60) {
        let ticks: Ticks = ticks >> shift;
        let told = from_ticks(ticks);
        prop_assert!(to_ticks(told).unwrap() >= ticks, "{told} s are too short");
        prop_assert!(ticks == 0 || to_ticks(told.next_down()).unwrap() <= ticks);
    }
}
