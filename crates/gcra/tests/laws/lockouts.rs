//! A lockout equals a naive model that remembers each failure, and grants few attempts in any
//! window.
// The numbers of these histories are small.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

use crate::tried;
use gcra::clock::EPOCH;
use gcra::lockout::Lockout;
use gcra::{Denial, Outcome, Ticks, Timestamp, Verdict};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// The unit of all times here. States keep instants in this unit.
const UNIT: Ticks = 1 << 10;

#[derive(Clone, Copy, Debug)]
enum Act {
    Attempt,
    Peek,
    Succeed,
}

fn rules() -> impl Strategy<Value = Lockout> {
    let factor = prop_oneof![Just(1.0), Just(1.5), Just(2.0), Just(10.0)];
    (1..6u64, 1..40u64, factor, 1..200u64).prop_map(|(attempts, block, factor, max_block)| {
        Lockout {
            attempts,
            block: 2 * UNIT * block,
            factor,
            max_block: 2 * UNIT * max_block,
        }
    })
}

fn histories() -> impl Strategy<Value = (Lockout, Vec<(Ticks, Act)>)> {
    let act = prop_oneof![
        10 => Just(Act::Attempt),
        2 => Just(Act::Peek),
        1 => Just(Act::Succeed),
    ];
    let gap = prop_oneof![4 => 0..20u64, 2 => 0..100u64, 1 => 0..600u64];
    (rules(), prop::collection::vec((gap, act), 1..60))
}

/// A naive lockout. It remembers the failures, and the end of the last block.
#[derive(Default)]
struct Naive {
    failures: Vec<Timestamp>,
    until: Option<Timestamp>,
}

impl Naive {
    fn forget(&mut self, rules: &Lockout, now: Timestamp) {
        let last = self.until.or(self.failures.last().copied());
        if last.is_some_and(|last| last + rules.max_block <= now) {
            *self = Self::default();
        }
    }

    fn may_attempt(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    fn fail(&mut self, rules: &Lockout, now: Timestamp) {
        self.failures.push(now);
        let more = self.failures.len().checked_sub(rules.attempts as usize);
        self.until = more.map(|more| {
            let grown = rules.block as f64 * rules.factor.powi(more as i32);
            // The end of a block is rounded up to the unit.
            (now + grown.min(rules.max_block as f64) as Ticks).ceil(UNIT)
        });
    }
}

/// Decides an attempt on a state. The third argument is the state before the last call.
type Attempt = fn(&Lockout, Timestamp, Timestamp, Timestamp) -> Outcome;

fn attempt(rules: &Lockout, state: Timestamp, _before: Timestamp, now: Timestamp) -> Outcome {
    rules.attempt(state, now)
}

/// Runs a history on a lockout and on the naive one.
///
/// # Errors
/// Returns the promise that does not hold.
fn judge(rules: &Lockout, history: &[(Ticks, Act)], attempt: Attempt) -> Result<(), String> {
    let (mut state, mut before, mut now) = (Timestamp::ZERO, Timestamp::ZERO, EPOCH);
    let mut naive = Naive::default();
    // The instants of the attempts that were granted since the failures were forgotten.
    let mut grants = Vec::new();
    for &(gap, act) in history {
        now += gap * UNIT;
        let known = naive.failures.len();
        naive.forget(rules, now);
        if known > 0 && naive.failures.is_empty() {
            bounded(rules, &grants)?;
            grants.clear();
        }
        let (decision, next) = rules.decision(&rules.peek(state, now), false);
        let left = match (naive.may_attempt(now), naive.failures.len() as u64) {
            (false, _) => 0,
            (true, failures) => rules.attempts.saturating_sub(failures).max(1).cast_signed(),
        };
        if (decision.remaining, decision.allowed()) != (left, left > 0) {
            return Err(format!("{decision:?}, and {left} are left"));
        }
        if let Some(until) = naive.until.filter(|&until| until > now) {
            let ends = (decision.retry_after, next) == (Some(until - now), until - now);
            if !ends || !rules.peek(state, until).granted() {
                return Err(format!("{decision:?}, and the block ends at {until:?}"));
            }
        }
        match act {
            Act::Peek => continue,
            Act::Succeed => {
                before = state;
                state = Lockout::succeed(state, now).empty_at;
                naive = Naive::default();
                bounded(rules, &grants)?;
                grants.clear();
                continue;
            }
            Act::Attempt => {}
        }
        let outcome = attempt(rules, state, before, now);
        before = state;
        let changes = outcome.empty_at != state;
        state = outcome.empty_at;
        match outcome.verdict {
            Verdict::Granted => grants.push(now),
            Verdict::Denied(Denial::LockedOut) if !changes => {}
            Verdict::Denied(_) => return Err(format!("{outcome:?}")),
        }
        if outcome.granted() != naive.may_attempt(now) {
            return Err(format!("granted {} at {now:?}", outcome.granted()));
        }
        if outcome.granted() {
            naive.fail(rules, now);
        }
    }
    bounded(rules, &grants)
}

/// Checks that each window of `t` ticks has at most `attempts` grants, plus one for each block that
/// fits into `t`. `grants` begins after the failures were last forgotten.
fn bounded(rules: &Lockout, grants: &[Timestamp]) -> Result<(), String> {
    for (first, &from) in grants.iter().enumerate() {
        for (last, &to) in grants.iter().enumerate().skip(first) {
            let (mut fit, mut sum, mut block) = (0, 0.0, rules.block as f64);
            loop {
                sum += block.min(rules.max_block as f64);
                if sum > (to - from) as f64 {
                    break;
                }
                block *= rules.factor;
                fit += 1;
            }
            let most = rules.attempts as usize + fit;
            let granted = last - first + 1;
            if granted > most {
                return Err(format!("{granted} grants, and at most {most} are due"));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(tried(20_000))]

    #[test]
    fn a_lockout_equals_the_naive_one((rules, history) in histories()) {
        let judged = judge(&rules, &history, attempt);
        prop_assert!(judged.is_ok(), "{judged:?}");
    }

    #[test]
    fn a_clock_that_is_set_back_blocks_for_one_block_at_most(
        (rules, history) in histories(),
        back in 0..1u64 << 40,
    ) {
        let (mut state, mut now) = (Timestamp::ZERO, EPOCH + (1 << 41));
        for (gap, _) in history {
            now += gap * UNIT;
            state = rules.attempt(state, now).empty_at;
        }
        let now = now - back;
        // The first call after the clock was set back moves the end of the block back, too.
        let moved = rules.attempt(state, now).empty_at;
        prop_assert!(rules.attempt(moved, now + rules.max_block + UNIT).granted());
        let free = Lockout { attempts: 512, ..rules };
        prop_assert!(free.attempt(state, now).granted(), "fewer failures than attempts never block");
    }
}

/// Returns the number of 2,000 random histories in which a promise does not hold.
fn broken(attempt: Attempt) -> usize {
    let mut runner = TestRunner::new(tried(1));
    let judged = (0..2_000).map(|_| {
        let (rules, history) = histories().new_tree(&mut runner).unwrap().current();
        judge(&rules, &history, attempt)
    });
    judged.filter(Result::is_err).count()
}

/// Runs the control, which checks the state before the last call, and counts afterwards.
#[test]
fn a_check_before_the_count_grants_parallel_guesses() {
    assert!(
        broken(|rules, state, before, now| {
            let checked = rules.attempt(before, now);
            let counted = rules.attempt(state, now.max(state));
            if checked.granted() {
                Outcome { now, ..counted }
            } else {
                checked
            }
        }) > 0
    );
}

/// Runs the control, in which a denial begins the block again.
#[test]
fn a_denial_that_extends_the_block_is_noticed() {
    assert!(
        broken(|rules, state, _, now| {
            let outcome = rules.attempt(state, now);
            let again = Timestamp((now + rules.block).ceil(UNIT).0 | (state.0 % UNIT));
            let empty_at = if outcome.granted() {
                outcome.empty_at
            } else {
                state.max(again)
            };
            Outcome {
                empty_at,
                ..outcome
            }
        }) > 0
    );
}

/// Runs the control, in which all blocks are equal.
#[test]
fn a_block_that_does_not_become_longer_is_noticed() {
    assert!(
        broken(|rules, state, _, now| {
            let outcome = rules.attempt(state, now);
            let failures = (outcome.empty_at.0 % UNIT).min(rules.attempts);
            if !outcome.granted() || failures < rules.attempts {
                return outcome;
            }
            let empty_at =
                Timestamp((now + rules.block.min(rules.max_block)).ceil(UNIT).0 | failures);
            Outcome {
                empty_at,
                ..outcome
            }
        }) > 0
    );
}
