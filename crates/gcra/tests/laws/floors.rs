//! Calls with a floor leave the tokens of the floor to calls without a floor, whatever else happens
//! to the bucket.

use crate::{drawn, tried};
use gcra::clock::EPOCH;
use gcra::step::MAX_WAIT;
use gcra::{Put, Step, Ticks, Timestamp};
use proptest::prelude::*;

const SPAN: Ticks = 100;
/// The least floor of the calls with a floor.
const FLOOR: Ticks = 40;

/// A call. A history pairs it with the ticks since the previous call.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Takes tokens and leaves [`FLOOR`] and some more ticks in the bucket.
    Low(Ticks, Ticks),
    /// Takes tokens without a floor. The second number is the longest wait, in ticks.
    High(Ticks, Ticks),
    /// Takes tokens without a floor, even if the bucket does not hold them.
    Charge(Ticks),
    /// Undoes an earlier grant. The number selects it.
    GiveBack(usize),
    Block(Ticks),
}

fn histories() -> impl Strategy<Value = Vec<(Ticks, Act)>> {
    let wait = prop_oneof![3 => Just(0), 1 => 0..4 * SPAN];
    let more = prop_oneof![2 => Just(0), 1 => 0..SPAN - FLOOR];
    let act = prop_oneof![
        5 => (1..60u64, more).prop_map(|(cost, more)| Act::Low(cost, more)),
        4 => (1..=SPAN, wait).prop_map(|(cost, wait)| Act::High(cost, wait)),
        1 => (1..2 * SPAN).prop_map(Act::Charge),
        2 => (0..4usize).prop_map(Act::GiveBack),
        1 => (0..2 * SPAN).prop_map(Act::Block),
    ];
    prop::collection::vec((0..40u64, act), 1..40)
}

/// The rules of a history, or wrong rules in a control.
#[derive(Clone, Copy)]
struct Rules {
    /// True if the floor is checked before the call and not by the call.
    checks_before: bool,
    /// True if the [`Explaining`] bucket denies, too, and never goes into debt.
    explains_by_denials: bool,
}

const RULES: Rules = Rules {
    checks_before: false,
    explains_by_denials: false,
};

/// A naive bucket with a capacity of [`FLOOR`]. A call without a floor may only be denied if this
/// bucket holds too few tokens. `held` counts the tokens in ticks of refill.
struct Explaining {
    held: i64,
    at: Timestamp,
}

impl Explaining {
    fn refill(&mut self, now: Timestamp) {
        self.add(now.signed_since(self.at));
        self.at = now;
    }

    fn add(&mut self, ticks: i64) {
        self.held = (self.held + ticks).min(FLOOR.cast_signed());
    }
}

/// Runs a history. Fails with the promise that does not hold. The first promise is that a call
/// without a floor is denied only if the [`Explaining`] bucket holds too little. The grants of such
/// calls are charged to that bucket. The second promise is that calls with a floor get at most the
/// rest of the capacity and the refilled tokens.
fn judge(history: &[(Ticks, Act)], rules: Rules) -> Result<(), String> {
    let (mut state, mut now) = (Timestamp::ZERO, EPOCH);
    let mut explaining = Explaining {
        held: FLOOR.cast_signed(),
        at: now,
    };
    // For each grant: the state after it, its cost, the part of the cost that is a debt, and
    // whether the call had a floor.
    let mut grants: Vec<(Timestamp, Ticks, Ticks, bool)> = Vec::new();
    let mut low: Vec<(Timestamp, Ticks)> = Vec::new();
    let mut given_back = 0;
    // The cost of a call whose floor was checked before, and that takes its tokens now.
    let mut checked: Option<Ticks> = None;
    for &(gap, act) in history {
        now += gap;
        explaining.refill(now);
        let (cost, max_wait) = match act {
            Act::Low(cost, more) => (cost, -(FLOOR + more).cast_signed()),
            Act::High(cost, wait) => (cost, wait.cast_signed()),
            Act::Charge(cost) => (cost, MAX_WAIT.cast_signed()),
            Act::Block(ticks) => {
                state = state.max(now + ticks);
                explaining.held = explaining.held.min(-ticks.cast_signed());
                continue;
            }
            Act::GiveBack(number) => {
                if !grants.is_empty() {
                    let (taken, cost, in_debt, has_floor) =
                        grants.swap_remove(number % grants.len());
                    let worth = Put::worth((cost, in_debt), SPAN, taken, state, now);
                    let before = state;
                    state = Put::refunded(state, now, worth, SPAN);
                    given_back += i128::from(before - state);
                    if !has_floor {
                        explaining.add((before - state).cast_signed());
                    }
                }
                continue;
            }
        };
        let mut step = Step {
            max_wait,
            ..Step::new(cost, SPAN)
        };
        if rules.checks_before && max_wait < 0 {
            // The call takes what the last check has allowed.
            let may_take = step.dry().decide(state, now).granted();
            let Some(cost) = std::mem::replace(&mut checked, may_take.then_some(cost)) else {
                continue;
            };
            step = Step::new(cost, SPAN);
        }
        let outcome = step.decide(state, now);
        if !outcome.granted() {
            if max_wait >= 0 && explaining.held >= cost.cast_signed() - max_wait {
                return Err(format!("denied, though {} are kept", explaining.held));
            }
            continue;
        }
        state = outcome.empty_at;
        let in_debt = if max_wait > 0 { 0 } else { step.cost };
        grants.push((state, step.cost, in_debt, max_wait < 0));
        if max_wait < 0 {
            low.push((now, step.cost));
        } else if !rules.explains_by_denials || explaining.held >= cost.cast_signed() {
            explaining.held -= cost.cast_signed();
        }
    }
    for (first, &(from, _)) in low.iter().enumerate() {
        let mut sum = 0;
        for &(at, cost) in &low[first..] {
            sum += i128::from(cost);
            if sum > i128::from(SPAN - FLOOR) + i128::from(at - from) + given_back {
                return Err(format!("{sum} taken from {from:?} to {at:?}"));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(tried(20_000))]

    #[test]
    fn a_floor_keeps_its_tokens_for_calls_without_one(history in histories()) {
        let judged = judge(&history, RULES);
        prop_assert!(judged.is_ok(), "{judged:?}");
    }
}

/// Returns the number of 2,000 random histories in which a promise does not hold.
fn broken(rules: Rules) -> usize {
    let judged = drawn(histories(), 2_000).map(|history| judge(&history, rules));
    judged.filter(Result::is_err).count()
}

/// Runs the controls. In the first one, the floor is checked first, and the tokens are taken
/// afterwards. In the second one, denials are explained by a bucket that denies, too.
#[test]
fn wrong_floors_are_noticed() {
    let mut wrong = RULES;
    wrong.checks_before = true;
    assert!(broken(wrong) > 0);
    let mut wrong = RULES;
    wrong.explains_by_denials = true;
    assert!(broken(wrong) > 0);
}
