//! A lockout equals a naive model that counts failures, and grants few attempts in any window. An
//! attempt that is cancelled allows one more.
// The numbers of these histories are small.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

use crate::{drawn, tried};
use gcra::clock::EPOCH;
use gcra::lockout::{CANCEL_SPAN, Lockout, UNIT};
use gcra::{Denial, Outcome, Ticks, Timestamp, Verdict};
use proptest::prelude::*;

/// A multiple of all units.
const START: Timestamp = EPOCH.ceil(1 << 20);

#[derive(Clone, Copy, Debug)]
enum Act {
    Attempt,
    Peek,
    Succeed,
    /// Cancels one of the granted attempts.
    Cancel(prop::sample::Index),
}

fn rules() -> impl Strategy<Value = Lockout> {
    let factor = prop_oneof![Just(1.0), Just(1.5), Just(2.0), Just(10.0)];
    let unit = prop_oneof![Just(UNIT), Just(1 << 20)];
    let rules = (1..6u64, 1..40u64, factor, 1..200u64, unit, any::<bool>());
    rules.prop_map(
        |(attempts, block, factor, max_block, unit, one_clock)| Lockout {
            attempts,
            block: 2 * unit * block,
            factor,
            max_block: 2 * unit * max_block,
            unit,
            one_clock,
        },
    )
}

fn histories() -> impl Strategy<Value = (Lockout, Vec<(Ticks, Act)>)> {
    let act = prop_oneof![
        10 => Just(Act::Attempt),
        2 => Just(Act::Peek),
        1 => Just(Act::Succeed),
        3 => any::<prop::sample::Index>().prop_map(Act::Cancel),
    ];
    let gap = prop_oneof![4 => 0..20u64, 2 => 0..100u64, 1 => 0..600u64];
    (rules(), prop::collection::vec((gap, act), 1..60))
}

/// Returns the ticks after an attempt until the failures are forgotten. A coarse unit rounds the
/// instant of the attempt down.
fn memory(rules: &Lockout) -> Ticks {
    rules.max_block + rules.unit - UNIT
}

/// A naive lockout.
struct Naive {
    failures: u64,
    /// The end of the last block, or the last attempt.
    last: Timestamp,
    /// The attempt that began the block.
    owner: Option<usize>,
}

/// An attempt that was granted: the state that it wrote, and the end of its block.
struct Granted {
    state: Timestamp,
    until: Timestamp,
}

impl Naive {
    const CLEAR: Self = Self {
        failures: 0,
        last: Timestamp::ZERO,
        owner: None,
    };

    fn forget(&mut self, rules: &Lockout, now: Timestamp) {
        if self.last + memory(rules) <= now {
            *self = Self::CLEAR;
        }
    }

    fn may_attempt(&self, now: Timestamp) -> bool {
        self.owner.is_none() || self.last <= now
    }

    /// Counts the attempt with this number, and returns the end of its block.
    fn fail(&mut self, rules: &Lockout, attempt: usize, now: Timestamp) -> Timestamp {
        self.failures += 1;
        let more = self.failures.checked_sub(rules.attempts);
        self.owner = more.map(|_| attempt);
        self.last = more.map_or(now, |more| {
            let grown = rules.block as f64 * rules.factor.powi(more as i32);
            // The end of a block is rounded up to the unit.
            (now + grown.min(rules.max_block as f64) as Ticks).ceil(rules.unit)
        });
        self.last
    }

    /// Takes back one failure, and the block if `attempt` has begun it.
    fn cancel(&mut self, rules: &Lockout, attempt: usize, until: Timestamp, now: Timestamp) {
        let is_own = self.owner == Some(attempt);
        let is_forgotten = until + memory(rules) <= now;
        if self.failures == 0 || is_forgotten || !is_own && now < until {
            return;
        }
        self.failures -= 1;
        if is_own {
            (self.owner, self.last) = (None, self.last.min(now));
        }
        if self.failures == 0 && self.may_attempt(now) {
            *self = Self::CLEAR;
        }
    }
}

/// Decides an attempt on a state. The third argument is the state before the last call.
type Attempt = fn(&Lockout, Timestamp, Timestamp, Timestamp) -> Outcome;

fn attempt(rules: &Lockout, state: Timestamp, _before: Timestamp, now: Timestamp) -> Outcome {
    rules.attempt(state, now)
}

/// Cancels an attempt. The second argument is the state that it wrote.
type Cancel = fn(&Lockout, Timestamp, Timestamp, Timestamp) -> Outcome;

/// Runs a history on a lockout and on the naive one. Fails with the promise that does not hold.
fn judge(
    rules: &Lockout,
    history: &[(Ticks, Act)],
    attempt: Attempt,
    cancel: Cancel,
) -> Result<(), String> {
    let (mut state, mut before, mut now) = (Timestamp::ZERO, Timestamp::ZERO, START);
    let mut naive = Naive::CLEAR;
    // The instants of the attempts that were granted since the failures were forgotten, and those
    // of cancelled attempts.
    let (mut grants, mut cancels) = (Vec::new(), Vec::new());
    let mut all: Vec<Granted> = Vec::new();
    for &(gap, act) in history {
        now += gap * rules.unit;
        let known = naive.failures;
        naive.forget(rules, now);
        if known > 0 && naive.failures == 0 {
            bounded(rules, &grants, &cancels)?;
            grants.clear();
        }
        let (decision, next) = rules.decision(&rules.peek(state, now), false);
        let left = match (naive.may_attempt(now), naive.failures) {
            (false, _) => 0,
            (true, failures) => rules.attempts.saturating_sub(failures).max(1).cast_signed(),
        };
        if (decision.remaining, decision.allowed()) != (left, left > 0) {
            return Err(format!("{decision:?}, and {left} are left"));
        }
        if let Some(until) = Some(naive.last).filter(|_| !naive.may_attempt(now)) {
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
                naive = Naive::CLEAR;
                bounded(rules, &grants, &cancels)?;
                grants.clear();
                continue;
            }
            Act::Cancel(_) if all.is_empty() => continue,
            Act::Cancel(index) => {
                let attempt = index.index(all.len());
                let is_same = |owner: usize| all[owner].until == all[attempt].until;
                if naive
                    .owner
                    .is_some_and(|owner| owner != attempt && is_same(owner))
                {
                    // A state does not say which of two attempts began a block that ends then.
                    continue;
                }
                before = state;
                state = cancel(rules, all[attempt].state, state, now).empty_at;
                naive.cancel(rules, attempt, all[attempt].until, now);
                cancels.push(now);
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
            let until = naive.fail(rules, all.len(), now);
            all.push(Granted { state, until });
        }
    }
    bounded(rules, &grants, &cancels)
}

/// Returns the number of blocks that fit into `time`, each longer than the one before it.
fn fit(rules: &Lockout, time: Ticks) -> u64 {
    let (mut fit, mut sum, mut block) = (0, 0.0, rules.block as f64);
    loop {
        sum += block.min(rules.max_block as f64);
        if sum > time as f64 {
            return fit;
        }
        block *= rules.factor;
        fit += 1;
    }
}

/// Checks that each window of `t` ticks has at most `attempts` grants, plus one for each block that
/// fits into `t`, and one for each cancelled attempt. `grants` begins after the failures were last
/// forgotten.
fn bounded(rules: &Lockout, grants: &[Timestamp], cancels: &[Timestamp]) -> Result<(), String> {
    for (first, &from) in grants.iter().enumerate() {
        for (last, &to) in grants.iter().enumerate().skip(first) {
            let cancelled = cancels.iter().filter(|&&at| grants[0] <= at && at <= to);
            let most = (rules.attempts + fit(rules, to - from)) as usize + cancelled.count();
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
        let judged = judge(&rules, &history, attempt, Lockout::cancel);
        prop_assert!(judged.is_ok(), "{judged:?}");
    }

    #[test]
    fn a_clock_that_is_set_back_blocks_for_one_block_at_most(
        (rules, history) in histories(),
        back in 0..1u64 << 40,
    ) {
        let rules = Lockout { one_clock: true, ..rules };
        let (mut state, mut now) = (Timestamp::ZERO, START + (1 << 41));
        for (gap, _) in history {
            now += gap * rules.unit;
            state = rules.attempt(state, now).empty_at;
        }
        let now = now - back;
        // The first call after the clock was set back moves the end of the block back, too.
        let moved = rules.attempt(state, now).empty_at;
        prop_assert!(rules.attempt(moved, now + rules.max_block + rules.unit).granted());
        let free = Lockout { attempts: 512, ..rules };
        prop_assert!(free.attempt(state, now).granted(), "fewer failures than attempts never block");
    }

    #[test]
    fn clocks_that_differ_add_their_difference_once((rules, steps) in readings()) {
        let rules = Lockout { one_clock: false, ..rules };
        let judged = judge_clocks(&rules, &steps);
        prop_assert!(judged.is_ok(), "{judged:?}");
    }
}

/// The greatest difference of the clocks, in units.
const APART: u64 = 40;

/// A clock's reading for each attempt: the time since the last attempt, and the time by which the
/// clock is ahead, both in units.
fn readings() -> impl Strategy<Value = (Lockout, Vec<(u64, u64)>)> {
    let gap = prop_oneof![6 => 0..10u64, 1 => 0..100u64];
    let ahead = prop_oneof![2 => Just(0), 2 => Just(APART), 1 => 0..=APART];
    (rules(), prop::collection::vec((gap, ahead), 1..80))
}

/// Runs attempts by the given readings. Fails if the attempts of any time are more than those of
/// one clock in this time and the greatest difference of the clocks.
fn judge_clocks(rules: &Lockout, readings: &[(u64, u64)]) -> Result<(), String> {
    let (mut state, mut time, mut grants) = (Timestamp::ZERO, START, Vec::new());
    for (gap, ahead) in readings {
        time += gap * rules.unit;
        let outcome = rules.attempt(state, time + ahead * rules.unit);
        if outcome.granted() {
            grants.push(time);
        }
        state = outcome.empty_at;
    }
    for (first, &from) in grants.iter().enumerate() {
        for (more, &to) in grants[first..].iter().enumerate() {
            let time = to - from + APART * rules.unit;
            let forgotten = time / rules.max_block;
            let most = match forgotten {
                0 => rules.attempts + fit(rules, time),
                _ => rules.attempts * (1 + forgotten) + time / rules.block.min(rules.max_block),
            };
            if more as u64 + 1 > most {
                return Err(format!("{} grants, and at most {most} are due", more + 1));
            }
        }
    }
    Ok(())
}

#[test]
fn a_state_that_each_clock_moves_back_is_noticed() {
    let moved = drawn(readings(), 2_000).filter(|(rules, steps)| {
        let rules = Lockout {
            one_clock: true,
            ..*rules
        };
        judge_clocks(&rules, steps).is_err()
    });
    assert!(moved.count() > 0);
}

/// A host whose clock is a day ahead, and one whose clock is right, in turn.
#[test]
fn hosts_in_turn_end_no_block_early() {
    let second = gcra::TICKS_PER_SECOND;
    let rules = Lockout {
        attempts: 1,
        block: 30 * second,
        factor: 1.0,
        max_block: 30 * second,
        unit: UNIT,
        one_clock: false,
    };
    let (mut state, mut granted, mut cancelled) = (Timestamp::ZERO, 0, 0);
    let mut cancels = Timestamp::ZERO;
    for call in 0..400 {
        let now = START + call * second / 10 + (call + 1) % 2 * 86_400 * second;
        let outcome = rules.attempt(state, now);
        state = outcome.empty_at;
        granted += u64::from(outcome.granted());
        let outcome = rules.take_cancel(cancels, now);
        cancels = outcome.empty_at;
        cancelled += u64::from(outcome.granted());
    }
    // The clock that is ahead decides both attempts in 40 seconds.
    assert_eq!((granted, cancelled), (2, 100));
}

/// Returns the number of 2,000 random histories in which a promise does not hold.
fn broken(attempt: Attempt, cancel: Cancel) -> usize {
    let judged =
        drawn(histories(), 2_000).map(|(rules, history)| judge(&rules, &history, attempt, cancel));
    judged.filter(Result::is_err).count()
}

/// Runs the controls, each of which must break a promise.
#[test]
fn wrong_lockouts_are_noticed() {
    // Checks the state before the last call, and counts afterwards.
    let late: Attempt = |rules, state, before, now| {
        let checked = rules.attempt(before, now);
        let counted = rules.attempt(state, now.max(state));
        if checked.granted() {
            Outcome { now, ..counted }
        } else {
            checked
        }
    };
    // A denial begins the block again.
    let renewed: Attempt = |rules, state, _, now| {
        let mut outcome = rules.attempt(state, now);
        if !outcome.granted() {
            let again = Timestamp((now + rules.block).ceil(UNIT).0 | (state.0 % UNIT));
            outcome.empty_at = state.max(again);
        }
        outcome
    };
    // All blocks are equal.
    let constant: Attempt = |rules, state, _, now| {
        let mut outcome = rules.attempt(state, now);
        let failures = (outcome.empty_at.0 % UNIT).min(rules.attempts);
        if outcome.granted() && failures == rules.attempts {
            let block = rules.block.min(rules.max_block);
            outcome.empty_at = Timestamp((now + block).ceil(UNIT).0 | failures);
        }
        outcome
    };
    for wrong in [late, renewed, constant] {
        assert!(broken(wrong, Lockout::cancel) > 0);
    }
    // A cancelled attempt also ends the block of another one.
    let ends: Cancel = |rules, _, state, now| rules.cancel(state, state, now);
    // A cancelled attempt clears all failures.
    let clears: Cancel = |_, _, state, now| Lockout::succeed(state, now);
    for wrong in [ends, clears] {
        assert!(broken(attempt, wrong) > 0);
    }
}

proptest! {
    #![proptest_config(tried(200))]

    #[test]
    fn attempts_that_are_all_cancelled_leave_no_failure_in_any_order(
        order in prop::sample::subsequence((0..5).collect::<Vec<_>>(), 5).prop_shuffle(),
    ) {
        let rules = Lockout {
            attempts: 5,
            block: 1 << 40,
            factor: 2.0,
            max_block: 1 << 50,
            unit: UNIT,
            one_clock: true,
        };
        let (mut state, mut written) = (Timestamp::ZERO, Vec::new());
        for now in 0..5 {
            state = rules.attempt(state, EPOCH + now * UNIT).empty_at;
            written.push(state);
        }
        for attempt in order {
            state = rules.cancel(written[attempt], state, EPOCH + 9 * UNIT).empty_at;
        }
        prop_assert_eq!(state, Timestamp::ZERO);
    }

    #[test]
    fn few_attempts_are_cancelled_in_any_window(
        gaps in prop::collection::vec(0..CANCEL_SPAN / 90, 1..400),
        rules in rules(),
    ) {
        let (mut state, mut now, mut cancels) = (Timestamp::ZERO, EPOCH, Vec::new());
        for gap in gaps {
            now += if gap % 3 == 0 { gap } else { 0 };
            let outcome = rules.take_cancel(state, now);
            state = outcome.empty_at;
            if outcome.granted() {
                cancels.push(now);
            }
        }
        for (first, &from) in cancels.iter().enumerate() {
            for (count, &to) in cancels[first..].iter().enumerate() {
                let due = 100 + (to - from) * 100 / CANCEL_SPAN;
                prop_assert!((count as u64) < due, "{} and {due} are due", count + 1);
            }
        }
    }
}

#[test]
fn a_hundred_attempts_are_cancelled_in_a_row() {
    for rules in drawn(rules(), 10) {
        let in_a_row = (0..200).fold((Timestamp::ZERO, 0), |(state, count), _| {
            let outcome = rules.take_cancel(state, EPOCH);
            (outcome.empty_at, count + u64::from(outcome.granted()))
        });
        assert_eq!(in_a_row.1, 100);
    }
}
