//! Tests the limit, which holds a capacity and a rate in whole ticks.

use crate::history::{Amount, any_quotas, even_quotas, tokens};
use crate::model::{exact, whole};
use crate::tried;
use gcra::clock::EPOCH;
use gcra::limit::MAX_SPAN;
use gcra::{Step, Timestamp, Tokens};
use proptest::prelude::*;

proptest! {
    #![proptest_config(tried(5000))]

    #[test]
    fn a_full_bucket_of_n_grants_exactly_n_at_one_instant(asked in even_quotas()) {
        let limit = asked.limit();
        let n = limit.capacity().floor();
        let one = Step::new(limit.cost(Tokens::ONE).unwrap(), limit.span());
        if n > 3000 {
            // There are too many tokens to take them one by one. All tokens cost the same, so the
            // test compares the product of their number and their cost.
            prop_assert_eq!(u128::from(n) * u128::from(one.cost), u128::from(limit.span()));
            return Ok(());
        }
        let (mut empty_at, mut taken) = (Timestamp::ZERO, 0);
        while taken <= n {
            let outcome = one.decide(empty_at, EPOCH);
            if !outcome.granted() {
                break;
            }
            empty_at = outcome.empty_at;
            taken += 1;
        }
        prop_assert_eq!(taken, n);
    }

    #[test]
    fn the_rate_is_never_above_and_less_than_a_thousandth_below(asked in any_quotas()) {
        let limit = asked.limit();
        let asked_rate = asked.per_tick();
        // The rate after rounding, as the model computes it.
        let kept = asked.refill().per_tick;
        prop_assert!(kept <= asked_rate);
        prop_assert!(kept > asked_rate * exact(0.999));
        prop_assert_eq!(whole(limit.span()), (asked.exact_capacity() / kept).ceil());
    }

    #[test]
    fn costs_and_remainders_equal_the_exact_ones(
        asked in any_quotas(),
        parts in 0u32..=64,
        n in any::<u64>(),
        shift in 0u32..64,
        available in 0..2 * MAX_SPAN,
    ) {
        let (limit, refill) = (asked.limit(), asked.refill());
        prop_assert!((1..=MAX_SPAN).contains(&limit.span()));
        prop_assert_eq!(limit.cost(tokens(asked.capacity.next_up())), None);
        let amount = Amount::Fraction(parts).of(asked);
        prop_assert_eq!(limit.cost(tokens(amount)).map(whole), Some(refill.cost(&exact(amount))));
        for n in [n >> shift, limit.capacity().floor()] {
            let within = whole(n) <= asked.exact_capacity();
            let cost = within.then(|| refill.cost(&whole(n)));
            prop_assert_eq!(limit.cost_whole(n).map(whole), cost);
        }
        for available in [available, available >> shift, limit.span(), limit.span() - 1] {
            let tokens = limit.tokens(available);
            let exact = refill.remaining(available);
            prop_assert!(whole(tokens) == exact || (tokens == u64::MAX && whole(tokens) < exact));
        }
    }
}
