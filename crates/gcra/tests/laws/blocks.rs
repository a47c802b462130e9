//! A bucket grants a call if and only if a naive bucket does, after takes, charges, reservations,
//! give-backs, blocks, drains and resets. It holds at most one token at the end of a block,
//! whatever other calls are made. Right after a drain, it holds at most the tokens that the drain
//! leaves.

use crate::{drawn, tried};
use gcra::clock::EPOCH;
use gcra::step::MAX_WAIT;
use gcra::{Put, Step, Ticks, Timestamp};
use proptest::prelude::*;

const SPAN: Ticks = 100;
/// The cost of one token.
const TOKEN: Ticks = 10;

/// A call. A history pairs it with the ticks since the previous call.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Takes tokens. The second number is the longest wait for them, in ticks.
    Take(Ticks, Ticks),
    /// Takes tokens even if the bucket does not hold them.
    Charge(Ticks),
    /// Undoes an earlier take. The number selects the take.
    GiveBack(usize),
    /// Refunds tokens that no particular take took.
    Refund(Ticks),
    Block(Ticks),
    Drain(Ticks),
    Reset,
}

fn histories() -> impl Strategy<Value = Vec<(Ticks, Act)>> {
    let wait = prop_oneof![2 => Just(0), 1 => 0..4 * SPAN];
    let act = prop_oneof![
        6 => (1..=SPAN, wait).prop_map(|(cost, wait)| Act::Take(cost, wait)),
        1 => (1..3 * SPAN).prop_map(Act::Charge),
        2 => (0..4usize).prop_map(Act::GiveBack),
        1 => (1..=SPAN).prop_map(Act::Refund),
        3 => (0..5 * SPAN).prop_map(Act::Block),
        2 => (0..=SPAN).prop_map(Act::Drain),
        1 => Just(Act::Reset),
    ];
    prop::collection::vec((0..60u64, act), 1..40)
}

/// Returns the state of a bucket after a change that raises it. The arguments are the state before
/// and the state that the change requests.
type Raise = fn(Timestamp, Timestamp) -> Timestamp;

/// A naive bucket, which counts the tokens that it holds, in ticks of refill.
struct Naive {
    held: i64,
    at: Timestamp,
}

impl Naive {
    /// Refills the bucket until `now`.
    fn at(&mut self, now: Timestamp) -> &mut Self {
        let refilled = self.held + now.signed_since(self.at);
        // A full bucket gains no tokens.
        self.held = refilled.min(SPAN.cast_signed());
        self.at = now;
        self
    }

    fn is_in(&self, state: Timestamp, now: Timestamp) -> bool {
        self.held == now.signed_since(state).min(SPAN.cast_signed())
    }
}

/// Runs a history on a bucket and on the naive one. Fails with the promise that does not hold. The
/// promises are: the bucket grants the same calls as the naive one and holds as many tokens, no
/// token is granted in a block, a block ends with one token, and two equal blocks are no longer
/// than one.
fn judge(history: &[(Ticks, Act)], raise: Raise) -> Result<(), String> {
    let (mut state, mut now) = (Timestamp::ZERO, EPOCH);
    let held = SPAN.cast_signed();
    let mut naive = Naive { held, at: now };
    let mut taken: Vec<(Ticks, Ticks, Timestamp)> = Vec::new();
    // The instant at which the last block ends.
    let mut end = Timestamp::ZERO;
    for &(gap, act) in history {
        now += gap;
        naive.at(now);
        match act {
            Act::Take(cost, _) | Act::Charge(cost) => {
                let (max_wait, in_debt) = match act {
                    Act::Take(_, 0) => (0, cost),
                    Act::Take(_, wait) => (wait.cast_signed(), 0),
                    _ => (MAX_WAIT.cast_signed(), 0),
                };
                let step = Step {
                    max_wait,
                    ..Step::new(cost, SPAN)
                };
                let outcome = step.decide(state, now);
                state = outcome.empty_at;
                if outcome.granted() != (cost.cast_signed() <= naive.held + max_wait) {
                    return Err(format!("{outcome:?}, and {} are held", naive.held));
                }
                if !outcome.granted() {
                    continue;
                }
                naive.held -= cost.cast_signed();
                taken.push((cost, in_debt, state));
                if matches!(act, Act::Take(..)) && cost >= TOKEN && state.max(now) < end {
                    return Err(format!("granted at {state:?}, before {end:?}"));
                }
            }
            Act::GiveBack(_) | Act::Refund(_) => {
                let (cost, in_debt, taken) = match act {
                    Act::Refund(cost) => (cost, cost, Put::VOUCHED),
                    Act::GiveBack(number) if !taken.is_empty() => {
                        taken.swap_remove(number % taken.len())
                    }
                    _ => continue,
                };
                let worth = Put::worth((cost, in_debt), SPAN, taken, state, now);
                let before = state;
                state = Put::refunded(state, now, worth, SPAN);
                let given_back = before - state;
                if given_back > cost {
                    return Err(format!("{given_back} given back of {cost}"));
                }
                naive.held += given_back.cast_signed();
                end = end.saturating_sub(given_back);
            }
            Act::Block(ticks) => {
                let later = Step::new(TOKEN, SPAN).retry_after(state, now).max(ticks);
                let asked = now + ticks - TOKEN;
                state = raise(state, asked);
                naive.held = naive.held.min(TOKEN.cast_signed() - ticks.cast_signed());
                end = end.max(now + ticks);
                if Step::new(TOKEN, SPAN).retry_after(state, now) != later {
                    return Err(format!("the block does not end after {later}"));
                }
                if raise(state, asked) != state {
                    return Err("the second block is another one".into());
                }
            }
            Act::Drain(left) => {
                state = raise(state, now - left);
                naive.held = naive.held.min(left.cast_signed());
                if Step::new(0, SPAN).available(state, now) > left {
                    return Err(format!("more than {left} are left"));
                }
            }
            Act::Reset => {
                (state, end) = (Timestamp::ZERO, Timestamp::ZERO);
                naive.held = SPAN.cast_signed();
            }
        }
        if !naive.is_in(state, now) {
            return Err(format!("{} held, and the state is {state:?}", naive.held));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(tried(20_000))]

    #[test]
    fn blocks_and_drains_equal_the_naive_model(history in histories()) {
        let judged = judge(&history, Timestamp::max);
        prop_assert!(judged.is_ok(), "{judged:?}");
    }
}

/// Returns the number of 2,000 random histories in which a promise does not hold.
fn broken(raise: Raise) -> usize {
    let judged = drawn(histories(), 2_000).map(|history| judge(&history, raise));
    judged.filter(Result::is_err).count()
}

/// Runs the controls, in which a later block replaces an earlier one, or adds to it.
#[test]
fn a_block_that_replaces_another_one_or_adds_to_it_is_noticed() {
    assert!(broken(|_, asked| asked) > 0);
    let add = |state: Timestamp, asked: Timestamp| asked + state.saturating_since(EPOCH).min(SPAN);
    assert!(broken(add) > 0);
}
