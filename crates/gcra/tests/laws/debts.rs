//! Charges and reservations delay the calls after them. Together with the grants, they never take
//! more than the capacity and the tokens that are refilled until the last grant is due.

use crate::{drawn, tried};
use gcra::clock::EPOCH;
use gcra::step::MAX_WAIT;
use gcra::{Step, Ticks, Timestamp};
use proptest::prelude::*;

const SPAN: Ticks = 100;

/// A call. A history pairs it with the ticks since the previous call.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Takes tokens. The second number is the longest wait for them, in ticks.
    Take(Ticks, Ticks),
    /// Takes tokens even if the bucket does not hold them.
    Charge(Ticks),
}

/// A take: the instant from which it counts, the instant at which it is due, and its cost. A charge
/// is not due at any instant.
type Taken = (Timestamp, Option<Timestamp>, Ticks);

/// Returns the state of a bucket after a granted act, or a wrong state in a control. The arguments
/// are the act, the state that its step left, and the clock.
type After = fn(Act, Timestamp, Timestamp) -> Timestamp;

fn histories() -> impl Strategy<Value = Vec<(Ticks, Act)>> {
    let wait = prop_oneof![2 => Just(0), 1 => 0..4 * SPAN];
    let act = prop_oneof![
        4 => (1..=SPAN, wait).prop_map(|(cost, wait)| Act::Take(cost, wait)),
        1 => (1..3 * SPAN).prop_map(Act::Charge),
    ];
    prop::collection::vec((0..60u64, act), 1..40)
}

fn run(history: &[(Ticks, Act)], after: After) -> Vec<Taken> {
    let (mut empty_at, mut now) = (Timestamp::ZERO, EPOCH);
    let mut taken = Vec::new();
    for &(gap, act) in history {
        now += gap;
        let (cost, max_wait) = match act {
            Act::Take(cost, wait) => (cost, wait),
            Act::Charge(cost) => (cost, MAX_WAIT),
        };
        let step = Step {
            max_wait: max_wait.cast_signed(),
            ..Step::new(cost, SPAN)
        };
        let outcome = step.decide(empty_at, now);
        if outcome.granted() {
            let due = outcome.empty_at.max(now);
            taken.push(match act {
                Act::Take(..) => (due, Some(due), cost),
                Act::Charge(_) => (now, None, cost),
            });
            empty_at = after(act, outcome.empty_at, now);
        }
    }
    taken
}

/// Returns the greatest number of ticks by which the takes in a window exceed the span and the
/// length of the window. A window begins when a take begins to count, and ends when a grant is due.
fn greatest_excess(taken: &[Taken]) -> i128 {
    let mut worst = i128::MIN;
    for (first, &(from, ..)) in taken.iter().enumerate() {
        let mut sum = 0;
        for &(_, due, cost) in &taken[first..] {
            sum += i128::from(cost);
            if let Some(due) = due {
                let earned = i128::from(due.signed_since(from));
                worst = worst.max(sum - i128::from(SPAN) - earned);
            }
        }
    }
    worst
}

/// Returns the greatest excess over many random histories.
fn worst_of_many(after: After) -> i128 {
    let histories = drawn(histories(), 2_000);
    let excesses = histories.map(|history| greatest_excess(&run(&history, after)));
    excesses.max().unwrap()
}

proptest! {
    #![proptest_config(tried(20_000))]

    #[test]
    fn charges_and_reservations_delay_the_grants_after_them(history in histories()) {
        let excess = greatest_excess(&run(&history, |_, empty_at, _| empty_at));
        prop_assert!(excess <= 0, "{excess} more than the bound");
    }
}

/// Runs the control, in which charges take only the tokens that are there.
#[test]
fn a_bucket_that_forgets_the_debt_of_a_charge_grants_too_much() {
    let forget = |act, empty_at: Timestamp, now| match act {
        Act::Charge(_) => empty_at.min(now),
        Act::Take(..) => empty_at,
    };
    assert!(worst_of_many(forget) > 0);
}

/// Runs the control, in which reservations leave no debt.
#[test]
fn a_bucket_that_forgets_the_debt_of_a_reservation_grants_too_much() {
    let forget = |act, empty_at: Timestamp, now| match act {
        Act::Take(..) => empty_at.min(now),
        Act::Charge(_) => empty_at,
    };
    assert!(worst_of_many(forget) > 0);
}
