//! After a take is undone, other calls never get more than the capacity and the refilled tokens.

use crate::{drawn, tried};
use gcra::clock::EPOCH;
use gcra::{Put, Step, Ticks, Timestamp};
use proptest::prelude::*;

const SPAN: Ticks = 100;

/// An act of a caller. A history pairs it with the ticks since the previous act.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Takes tokens and keeps them. The second number is the longest wait for them, in ticks.
    Take(Ticks, Ticks),
    /// Takes tokens that are given back later.
    Hold(Ticks, Ticks),
    /// Gives the tokens of a held take back. The number selects the take.
    GiveBack(usize),
    /// Blocks the bucket for a number of ticks.
    Block(Ticks),
}

/// Returns histories in which the time between two acts is less than `gaps`.
fn histories(gaps: Ticks) -> impl Strategy<Value = Vec<(Ticks, Act)>> {
    let wait = || prop_oneof![Just(0), 0..4 * SPAN];
    let act = prop_oneof![
        2 => (1..=40u64, wait()).prop_map(|(cost, wait)| Act::Take(cost, wait)),
        1 => (1..=SPAN, wait()).prop_map(|(cost, wait)| Act::Take(cost, wait)),
        1 => (1..=SPAN, wait()).prop_map(|(cost, wait)| Act::Hold(cost, wait)),
        1 => (0..4usize).prop_map(Act::GiveBack),
        1 => prop_oneof![2 => Just(1), 1 => 1..2 * SPAN].prop_map(Act::Block),
    ];
    prop::collection::vec((0..gaps, act), 1..30)
}

/// Returns the amount that a give-back returns: [`Put::worth`], or a wrong amount in a control. The
/// arguments are the cost with the result of [`in_debt`], the state after the take, the state now,
/// and the clock.
type Worth = fn((Ticks, Ticks), Timestamp, Timestamp, Timestamp) -> Ticks;

/// Returns the part of the cost that may be given back while the bucket is in debt and other calls
/// took tokens after the take. This is nothing for a take that may wait, and the whole cost
/// otherwise.
const fn in_debt(cost: Ticks, wait: Ticks) -> Ticks {
    if wait > 0 { 0 } else { cost }
}

/// Runs a history with at most `most` held takes at a time, and looks at the grants that were not
/// undone. A caller that waits gets its tokens at the end of the wait. Returns the greatest number
/// of ticks by which the grants in a window exceed the span and the length of the window.
///
/// A give-back does not see the give-backs of other calls since its take, so it may return the
/// ticks that they returned once more. With several held takes, these ticks are subtracted from the
/// result.
fn greatest_excess(history: &[(Ticks, Act)], most: usize, worth: Worth) -> i128 {
    let (mut empty_at, mut now) = (Timestamp::ZERO, EPOCH);
    let mut grants: Vec<(Timestamp, Ticks)> = Vec::new();
    let (mut held, mut overlaps) = (Vec::new(), 0);
    for &(gap, act) in history {
        now += gap;
        let mut take = |cost, max_wait| {
            let step = Step {
                max_wait: Ticks::cast_signed(max_wait),
                ..Step::new(cost, SPAN)
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
                let costs = (cost, in_debt(cost, wait));
                held.extend(take(cost, wait).map(|(_, after)| (now, costs, after)));
            }
            Act::GiveBack(number) if !held.is_empty() => {
                let (since, costs, after) = held.swap_remove(number % held.len());
                let worth = worth(costs, after, empty_at, now);
                empty_at = Put::refunded(empty_at, now, worth, SPAN);
                overlaps += i128::from(now - since);
            }
            Act::Block(ticks) => empty_at = empty_at.max(now + ticks - 1),
            Act::Hold(..) | Act::GiveBack(_) => {}
        }
    }
    grants.sort_unstable();
    let mut worst = 0;
    for (first, &(from, _)) in grants.iter().enumerate() {
        let mut granted = 0;
        for &(at, cost) in &grants[first..] {
            granted += i128::from(cost);
            worst = worst.max(granted - i128::from(SPAN) - i128::from(at - from));
        }
    }
    if most > 1 { worst - overlaps } else { worst }
}

fn exact(costs: (Ticks, Ticks), taken: Timestamp, empty_at: Timestamp, now: Timestamp) -> Ticks {
    Put::worth(costs, SPAN, taken, empty_at, now)
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
        before in 1..=2 * SPAN,
        (cost, meanwhile) in (0..SPAN, 0..=SPAN),
    ) {
        // Both takes are granted. The first take uses a part of the tokens. The second take uses a
        // part of the remaining tokens.
        let there = before.min(SPAN);
        let cost = 1 + cost % there;
        let meanwhile = meanwhile % (there - cost + 1);
        let now = EPOCH + 10 * SPAN;
        let state = now - before;
        let held = Step::new(cost, SPAN).decide(state, now);
        let other = Step::new(meanwhile, SPAN).decide(held.empty_at, now);
        prop_assert!(held.granted() && other.granted());
        let worth = exact((cost, cost), held.empty_at, other.empty_at, now);
        let given_back = Put::refunded(other.empty_at, now, worth, SPAN);
        let alone = Step::new(meanwhile, SPAN).decide(state, now);
        prop_assert_eq!(given_back.max(now - SPAN), alone.empty_at.max(now - SPAN));
    }
}

/// Returns the greatest excess over many random histories.
fn worst_of_many(worth: Worth) -> i128 {
    let histories = drawn(histories(60), 20_000);
    let excesses = histories.map(|history| greatest_excess(&history, 1, worth));
    excesses.max().unwrap()
}

/// Runs the controls, in which give-backs return the whole cost, or ignore the reservations made
/// after the take.
#[test]
fn give_backs_that_return_too_much_are_noticed() {
    assert!(worst_of_many(|(cost, _), _, _, _| cost) > 0);
    assert!(worst_of_many(|costs, taken, _, now| exact(costs, taken, taken, now)) > 0);
}

/// Runs the control, in which a cancel gives back its cost less the tokens that were taken later.
/// Two cancels together then give back too much, because the first hides later reservations from
/// the second.
#[test]
fn two_cancels_of_all_tokens_that_nobody_follows_grant_too_much() {
    let wait = 4 * SPAN;
    let history = [
        Act::Take(SPAN, 0),
        Act::Hold(SPAN, wait),
        Act::Hold(SPAN, wait),
        Act::Take(20, wait),
        Act::GiveBack(1),
        Act::GiveBack(0),
        Act::Take(SPAN, wait),
        Act::Take(40, wait),
    ];
    let history = history.map(|act| (0, act));
    assert!(greatest_excess(&history, 2, exact) <= 0);
    let generous: Worth =
        |(cost, _), taken, empty_at, now| Put::worth((cost, cost), SPAN, taken, empty_at, now);
    assert!(greatest_excess(&history, 2, generous) > 0);
}

/// Runs reservations of several limits on one bucket. The rates of the limits are equal. The bucket
/// is empty, and all calls come at one instant. Each item is the span and the cost of a
/// reservation, and the number of an earlier reservation that is cancelled after this one, if any.
/// `part` returns the part of a cost that a cancel gives back in a debt. Returns the greatest
/// number of ticks by which the reservations of one limit exceed its bound.
fn greatest_excess_of_quotas(
    calls: &[(Ticks, Ticks, Option<usize>)],
    part: fn(Ticks) -> Ticks,
) -> i128 {
    let mut empty_at = EPOCH;
    let mut reserved: Vec<Option<(Ticks, Ticks, Timestamp)>> = Vec::new();
    for &(span, cost, cancelled) in calls {
        let step = Step {
            max_wait: 1 << 40,
            ..Step::new(cost.min(span), span)
        };
        let outcome = step.decide(empty_at, EPOCH);
        assert!(outcome.granted());
        empty_at = outcome.empty_at;
        reserved.push(Some((span, step.cost, empty_at)));
        let number = cancelled.map(|number| number % reserved.len());
        if let Some((span, cost, taken)) = number.and_then(|number| reserved[number].take()) {
            let worth = Put::worth((cost, part(cost)), span, taken, empty_at, EPOCH);
            empty_at = Put::refunded(empty_at, EPOCH, worth, span);
        }
    }
    let mut worst = 0;
    for &(span, _, from) in reserved.iter().flatten() {
        let mut mine: Vec<_> = reserved.iter().flatten().collect();
        mine.retain(|(its, _, due)| *its == span && *due >= from);
        mine.sort_unstable_by_key(|(_, _, due)| *due);
        let mut granted = 0;
        for (_, cost, due) in mine {
            granted += i128::from(*cost);
            worst = worst.max(granted - i128::from(span) - i128::from(*due - from));
        }
    }
    worst
}

fn reservations() -> impl Strategy<Value = Vec<(Ticks, Ticks, Option<usize>)>> {
    let span = prop_oneof![Just(1u64), Just(10), Just(SPAN)];
    let call = (span, 1..=SPAN, prop::option::of(0..20usize));
    prop::collection::vec(call, 1..20)
}

proptest! {
    #![proptest_config(tried(20_000))]

    #[test]
    fn a_cancel_of_one_quota_never_grants_another_too_much(calls in reservations()) {
        let excess = greatest_excess_of_quotas(&calls, |_| 0);
        prop_assert!(excess <= 0, "{excess} more than the bound");
    }
}

/// Runs the control, in which a cancel gives back half of the tokens if no call follows.
#[test]
fn a_cancel_of_half_of_the_cost_grants_a_smaller_quota_too_much() {
    let calls = [(SPAN, SPAN, None), (1, 1, Some(0)), (1, 1, None)];
    assert!(greatest_excess_of_quotas(&calls, |_| 0) <= 0);
    let calls = [
        (SPAN, SPAN, None),
        (SPAN, SPAN, None),
        (1, 1, Some(1)),
        (SPAN, 49, None),
        (1, 1, None),
    ];
    assert!(greatest_excess_of_quotas(&calls, |_| 0) <= 0);
    assert!(greatest_excess_of_quotas(&calls, |cost| cost / 2) > 0);
}
