//! After a take is undone, other calls never get more than the capacity and the refilled tokens.

use crate::tried;
use gcra::clock::EPOCH;
use gcra::{Put, Step, Ticks, Timestamp};
use proptest::prelude::*;

const BURST: Ticks = 100;

/// One act of the callers, some time after the previous one.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Takes tokens and keeps them. Waits for them at most the second number of ticks.
    Take(Ticks, Ticks),
    /// Takes tokens that are given back later.
    Hold(Ticks, Ticks),
    /// Gives the tokens of a held take back. The number selects the take.
    GiveBack(usize),
}

/// Returns histories in which the time between two acts is less than `gaps`.
fn histories(gaps: Ticks) -> impl Strategy<Value = Vec<(Ticks, Act)>> {
    let wait = || prop_oneof![Just(0), 0..4 * BURST];
    let act = prop_oneof![
        2 => (1..=40u64, wait()).prop_map(|(cost, wait)| Act::Take(cost, wait)),
        1 => (1..=BURST, wait()).prop_map(|(cost, wait)| Act::Take(cost, wait)),
        1 => (1..=BURST, wait()).prop_map(|(cost, wait)| Act::Hold(cost, wait)),
        1 => (0..4usize).prop_map(Act::GiveBack),
    ];
    prop::collection::vec((0..gaps, act), 1..30)
}

/// Returns the amount that a give-back returns: [`Put::worth`], or a wrong amount in a control.
/// The arguments are the cost, the state after the take, the state now, and the clock.
type Worth = fn(Ticks, Timestamp, Timestamp, Timestamp) -> Ticks;

/// Runs a history with at most `most` held takes at a time, and looks at the grants that were not
/// undone. A caller that waits gets its tokens at the end of the wait. Returns the greatest number
/// of ticks by which the grants in a window exceed the burst and the length of the window.
///
/// A give-back does not see those of other calls since its take, so it may return that time too
/// much. With several held takes, these times are subtracted from the result.
fn greatest_excess(history: &[(Ticks, Act)], most: usize, worth: Worth) -> i128 {
    let (mut empty_at, mut now) = (Timestamp::ZERO, EPOCH);
    let mut grants: Vec<(Timestamp, Ticks)> = Vec::new();
    let (mut held, mut overlaps) = (Vec::new(), 0);
    for &(gap, act) in history {
        now += gap;
        let mut take = |cost, max_wait| {
            let step = Step {
                max_wait,
                ..Step::new(cost, BURST)
            };
            let outcome = step.decide(empty_at, now);
            empty_at = outcome.empty_at;
            outcome.granted().then_some((cost, empty_at))
        };
        match act {
            Act::Take(cost, wait) => {
                let granted = take(cost, wait);
                grants.extend(granted.map(|(cost, after)| (after.max(now), cost)));
            }
            Act::Hold(cost, wait) if held.len() < most => {
                held.extend(take(cost, wait).map(|(cost, after)| (now, cost, after)));
            }
            Act::GiveBack(number) if !held.is_empty() => {
                let (since, cost, after) = held.swap_remove(number % held.len());
                let worth = worth(cost, after, empty_at, now);
                empty_at = Put::refunded(empty_at, now, worth, BURST);
                overlaps += i128::from(now - since);
            }
            Act::Hold(..) | Act::GiveBack(_) => {}
        }
    }
    grants.sort_unstable();
    let mut worst = 0;
    for (first, &(from, _)) in grants.iter().enumerate() {
        let mut granted = 0;
        for &(at, cost) in &grants[first..] {
            granted += i128::from(cost);
            worst = worst.max(granted - i128::from(BURST) - i128::from(at - from));
        }
    }
    if most > 1 { worst - overlaps } else { worst }
}

fn exact(cost: Ticks, taken: Timestamp, empty_at: Timestamp, now: Timestamp) -> Ticks {
    Put::worth(cost, BURST, taken, empty_at, now)
}

proptest! {
    #![proptest_config(tried(20_000))]

    #[test]
    fn a_give_back_never_grants_too_much(history in histories(60)) {
        let excess = greatest_excess(&history, 1, exact);
        prop_assert!(excess <= 0, "{excess} more than the bound");
    }

    #[test]
    fn several_give_backs_never_grant_too_much(history in histories(60)) {
        let excess = greatest_excess(&history, 4, exact);
        prop_assert!(excess <= 0, "{excess} more than the bound");
    }

    #[test]
    fn several_give_backs_at_one_instant_never_grant_too_much(history in histories(1)) {
        let excess = greatest_excess(&history, 4, exact);
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
        let worth = exact(cost, held.empty_at, other.empty_at, now);
        let given_back = Put::refunded(other.empty_at, now, worth, BURST);
        let alone = Step::new(meanwhile, BURST).decide(state, now);
        prop_assert_eq!(given_back.max(now - BURST), alone.empty_at.max(now - BURST));
    }

    #[test]
    fn calls_that_wait_get_their_tokens_in_order_of_arrival(
        waits in prop::collection::vec((0..60u64, 1..=BURST), 2..20),
    ) {
        let (mut empty_at, mut now, mut last) = (Timestamp::ZERO, EPOCH, EPOCH);
        for (gap, cost) in waits {
            now += gap;
            let step = Step { max_wait: 1 << 40, ..Step::new(cost, BURST) };
            let outcome = step.decide(empty_at, now);
            prop_assert!(outcome.granted());
            let due = outcome.empty_at.max(now);
            prop_assert!(due >= last, "{due:?} before {last:?}");
            (empty_at, last) = (outcome.empty_at, due);
        }
    }
}

/// Returns the greatest excess over many random histories.
fn worst_of_many(worth: Worth) -> i128 {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(tried(1));
    let excesses = (0..20_000).map(|_| {
        let history = histories(60).new_tree(&mut runner).unwrap().current();
        greatest_excess(&history, 1, worth)
    });
    excesses.max().unwrap()
}

/// Runs the control, in which give-backs return the whole cost.
#[test]
fn a_refund_of_the_whole_cost_grants_too_much() {
    assert!(worst_of_many(|cost, _, _, _| cost) > 0);
}

/// Runs the control, in which give-backs ignore the reservations made after the take.
#[test]
fn a_cancellation_that_ignores_later_reservations_grants_too_much() {
    assert!(worst_of_many(|cost, taken, _, now| exact(cost, taken, taken, now)) > 0);
}

/// Runs the control, in which a cancel gives back all tokens that no later reservation follows. Two
/// cancels together then give back too much, because the first hides later reservations from the
/// second.
#[test]
fn two_cancels_of_more_than_half_of_the_cost_grant_too_much() {
    let wait = 4 * BURST;
    let history = [
        Act::Take(BURST, 0),
        Act::Hold(BURST, wait),
        Act::Hold(BURST, wait),
        Act::Take(20, wait),
        Act::GiveBack(1),
        Act::GiveBack(0),
        Act::Take(BURST, wait),
        Act::Take(40, wait),
    ];
    let history = history.map(|act| (0, act));
    assert!(greatest_excess(&history, 2, exact) <= 0);
    let unhalved = |cost: Ticks, taken, empty_at: Timestamp, now| {
        let cost = cost.saturating_sub(empty_at.saturating_since(taken));
        exact(cost, taken, taken, now)
    };
    assert!(greatest_excess(&history, 2, unhalved) > 0);
}
