//! After a take is undone, other calls never get more than the capacity and the refilled tokens.

use crate::tried;
use proptest::prelude::*;
use tokenbucket_core::clock::EPOCH;
use tokenbucket_core::{Put, Step, Ticks};

const BURST: Ticks = 100;

/// One act of the callers, some time after the previous one.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Takes tokens and keeps them.
    Take(Ticks),
    /// Takes tokens that are given back later. There is one such take at a time.
    Hold(Ticks),
    /// Gives the held tokens back.
    GiveBack,
}

fn histories() -> impl Strategy<Value = Vec<(Ticks, Act)>> {
    let act = prop_oneof![
        3 => (1..=40u64).prop_map(Act::Take),
        1 => (1..=BURST).prop_map(Act::Hold),
        1 => Just(Act::GiveBack),
    ];
    prop::collection::vec((0..60u64, act), 1..30)
}

/// Runs a history. Returns the greatest number of ticks by which the grants in a window exceed the
/// span and the length of the window. Grants that can be undone do not count. `taken` maps the
/// state after a take to the state that the give-back of the take passes as `taken`.
fn greatest_excess(history: &[(Ticks, Act)], taken: impl Fn(Ticks) -> Ticks) -> i128 {
    let (mut empty_at, mut now) = (0, EPOCH);
    let mut grants: Vec<(Ticks, Ticks)> = Vec::new();
    let mut held = None;
    for &(gap, act) in history {
        now += gap;
        match act {
            Act::Take(cost) => {
                let outcome = Step::new(cost, BURST).decide(empty_at, now);
                empty_at = outcome.empty_at;
                if outcome.granted() {
                    grants.push((now, cost));
                }
            }
            Act::Hold(cost) if held.is_none() => {
                let outcome = Step::new(cost, BURST).decide(empty_at, now);
                empty_at = outcome.empty_at;
                held = outcome.granted().then_some((cost, empty_at));
            }
            Act::Hold(_) => {}
            Act::GiveBack => {
                if let Some((cost, after)) = held.take() {
                    let worth = Put::worth(cost, BURST, taken(after), now);
                    empty_at = Put::refunded(empty_at, now, worth, BURST);
                }
            }
        }
    }
    let mut worst = 0;
    for (first, &(from, _)) in grants.iter().enumerate() {
        let mut granted = 0;
        for &(at, cost) in &grants[first..] {
            granted += i128::from(cost);
            worst = worst.max(granted - i128::from(BURST) - i128::from(at - from));
        }
    }
    worst
}

proptest! {
    #![proptest_config(tried(20_000))]

    #[test]
    fn a_give_back_never_grants_too_much(history in histories()) {
        let excess = greatest_excess(&history, |taken| taken);
        prop_assert!(excess <= 0, "{excess} more than the bound");
    }

    #[test]
    fn a_give_back_at_once_is_a_whole_one(
        before in 1..=2 * BURST,
        (cost, meanwhile) in (0..BURST, 0..=BURST),
    ) {
        // Both takes are granted. The first take uses a part of the tokens. The second take uses a
        // part of the remaining tokens.
        let there = before.min(BURST);
        let cost = 1 + cost % there;
        let meanwhile = meanwhile % (there - cost + 1);
        let now = EPOCH + 10 * BURST;
        let state = now - before;
        let held = Step::new(cost, BURST).decide(state, now);
        let other = Step::new(meanwhile, BURST).decide(held.empty_at, now);
        prop_assert!(held.granted() && other.granted());
        let worth = Put::worth(cost, BURST, held.empty_at, now);
        let given_back = Put::refunded(other.empty_at, now, worth, BURST);
        let alone = Step::new(meanwhile, BURST).decide(state, now);
        prop_assert_eq!(given_back.max(now - BURST), alone.empty_at.max(now - BURST));
    }
}

/// Runs the control, in which give-backs return the whole cost.
#[test]
fn a_refund_of_the_whole_cost_grants_too_much() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(tried(1));
    let excess = (0..20_000)
        .map(|_| {
            let history = histories().new_tree(&mut runner).unwrap().current();
            greatest_excess(&history, |_| Put::VOUCHED)
        })
        .max();
    assert!(excess > Some(0), "{excess:?}");
}
