//! Compares the sweeps with direct implementations of the rules, on small random logs.

use crate::simulated::Dice;
use prove::call::{Call, Kind, Nanos, Outcome, Quota, TOKEN, Tokens};
use prove::gifts::{all_returned, gifts};
use prove::rules::Rules;
use prove::{bound, denials, drains, waits};

const QUOTA: Quota = Quota {
    capacity: 4 * TOKEN,
    rate: 1_000_000_000_000,
};
const RULES: Rules = Rules::EXACT;
const FLOOR: Tokens = 2 * TOKEN;

/// Returns calls at whole nanoseconds, so that ties are common. A token is refilled in one
/// nanosecond.
fn random(dice: &mut Dice) -> Vec<Call> {
    let count = 1 + dice.below(14);
    let calls = (0..count).map(|_| {
        let start = 10 + dice.below(12);
        let kind = match dice.below(10) {
            0..5 => Kind::Take,
            5 => Kind::Refund,
            6 => Kind::Lost,
            7 => Kind::Charge,
            8 => Kind::Drain,
            _ => Kind::Reserve,
        };
        let is_asking = matches!(kind, Kind::Take | Kind::Reserve);
        let retry_after = Some(dice.below(4));
        let outcome = match dice.below(6) {
            0 => Outcome::Unknown,
            1 | 2 if is_asking => Outcome::Denied { retry_after },
            3 if kind == Kind::Take => Outcome::Undone,
            _ => Outcome::Done,
        };
        let has_wait =
            kind == Kind::Drain || (kind == Kind::Reserve && outcome != Outcome::Unknown);
        let has_floor = kind == Kind::Take && dice.below(3) == 0;
        Call {
            host: 0,
            start,
            end: start + dice.below(4),
            kind,
            cost: Tokens::from(1 + dice.below(4)) * TOKEN,
            floor: if has_floor { FLOOR } else { 0 },
            outcome,
            wait: if has_wait { dice.below(4) } else { 0 },
        }
    });
    calls.collect()
}

fn sum<'a>(calls: impl Iterator<Item = &'a Call>) -> Tokens {
    calls.map(|call| call.cost).sum()
}

/// Returns the greatest excess of all windows that contain a grant with this floor or a higher one.
/// Returns `None` if nothing was granted.
fn naive_bound(calls: &[Call], floor: Tokens) -> Option<Tokens> {
    let windows = (0..40_u64).flat_map(|from| (from..40).map(move |to| (from, to)));
    let excesses = windows.filter_map(|(from, to)| {
        let inside = |call: &&Call| from <= call.due().0 && call.due().1 <= to;
        let keeps = |call: &&Call| call.is_granted() && call.floor >= floor;
        let granted = calls.iter().filter(keeps).filter(inside);
        let last = granted.clone().map(|call| call.start).max()?;
        let before = |call: &&Call| from <= call.start && call.end < last;
        let charges = |call: &&Call| call.is_charged() || (call.is_granted() && !keeps(call));
        let charged = calls.iter().filter(charges).filter(before);
        let gifts = gifts(calls, &QUOTA, &RULES).into_iter().flatten();
        let gifts = gifts.filter(|gift| gift.start <= to && from <= gift.end);
        let gifts: Tokens = gifts.map(|gift| gift.amount).sum();
        let allowed = QUOTA.capacity - floor + QUOTA.refill(to - from) + gifts;
        Some(sum(granted.chain(charged)) - allowed)
    });
    excesses.max()
}

/// Returns the greatest excess after a drain. Returns `None` if nothing was granted after one.
fn naive_drained(calls: &[Call]) -> Option<Tokens> {
    let drains = calls.iter().filter(|call| call.kind == Kind::Drain);
    let drains = drains.filter(|call| call.outcome == Outcome::Done);
    let windows = drains.flat_map(|drain| (drain.start..40).map(move |to| (drain, to)));
    let excesses = windows.filter_map(|(drain, to)| {
        let after = |call: &&Call| drain.end < call.start;
        let granted = calls.iter().filter(|call| call.is_granted()).filter(after);
        let granted = granted.filter(|call| call.due().1 <= to);
        let last = granted.clone().map(|call| call.start).max()?;
        let charged = calls.iter().filter(|call| call.is_charged()).filter(after);
        let charged = charged.filter(|call| call.end < last);
        let gifts = calls.iter().zip(all_returned(calls, &QUOTA, &RULES));
        let gifts = gifts.filter(|(call, _)| call.start <= to && drain.start <= call.end);
        let gifts: Tokens = gifts.map(|(_, amount)| amount).sum();
        let allowed = drain.needed(&QUOTA) + QUOTA.refill(to - drain.start) + gifts;
        Some(sum(granted.chain(charged)) - allowed)
    });
    excesses.max()
}

/// Returns the most tokens that a bucket can lack at p. Each take is placed as late as possible.
/// The maximum is over the instants at which the bucket can have been full last.
fn naive_lack(calls: &[Call], p: Nanos) -> Tokens {
    let takes = || {
        calls
            .iter()
            .filter(|call| call.may_have_taken() && call.start <= p)
    };
    let from = (0..=p).map(|from| {
        let after = takes().filter(|call| call.end.min(p) >= from);
        sum(after) - QUOTA.refill(p - from)
    });
    from.max().unwrap_or(0).max(0)
}

fn naive_unexplained(calls: &[Call]) -> u64 {
    let denials = calls.iter().filter(|call| call.is_denied());
    let unexplained = denials.filter(|denial| {
        (denial.start..=denial.end)
            .all(|p| QUOTA.capacity - naive_lack(calls, p) >= denial.needed(&QUOTA))
    });
    unexplained.count() as u64
}

fn naive_contradicted(calls: &[Call]) -> u64 {
    let denials = || calls.iter().filter(|call| call.is_denied());
    let contradicts = |later: &&Call| {
        denials().any(|earlier| {
            let Outcome::Denied {
                retry_after: Some(wait),
            } = earlier.outcome
            else {
                return false;
            };
            let between = calls.iter().filter(|call| {
                let takes = call.may_have_taken() || call.may_have_drained();
                (takes || call.outcome == Outcome::Undone)
                    && call.start <= later.end
                    && earlier.start <= call.end
            });
            let taken = between.map(|call| match call.kind {
                Kind::Drain => call.drained(&QUOTA, 0),
                _ => call.cost,
            });
            let taken: Tokens = taken.sum();
            let passed = Tokens::from(later.start) - Tokens::from(earlier.end + wait);
            earlier.end <= later.start
                && earlier.asked() + QUOTA.rate * passed - taken >= later.needed(&QUOTA)
                && QUOTA.capacity - taken >= later.needed(&QUOTA)
        })
    };
    denials().filter(contradicts).count() as u64
}

#[test]
fn the_worst_window_is_that_of_all_windows() {
    for seed in 1..=5_000 {
        let calls = random(&mut Dice(seed * 0x9e37_79b9));
        for floor in [0, FLOOR] {
            let worst = bound::judge_above(&calls, &QUOTA, &RULES, floor).window;
            let excess = worst.map(|window| window.excess);
            assert_eq!(excess, naive_bound(&calls, floor), "seed {seed}: {calls:?}");
        }
        let worst = drains::judge(&calls, &QUOTA, &RULES).window;
        let excess = worst.map(|window| window.excess);
        assert_eq!(excess, naive_drained(&calls), "seed {seed}: {calls:?}");
    }
}

#[test]
fn the_unexplained_denials_are_those_of_the_definition() {
    let mut counts = [0; 2];
    for seed in 1..=5_000 {
        let mut calls = random(&mut Dice(seed * 0x9e37_79b9));
        // `naive_lack` covers neither gifts nor buckets that lack more than their capacity.
        calls.retain(|call| !call.may_have_returned() && call.kind != Kind::Drain);
        if (0..40).any(|p| naive_lack(&calls, p) > QUOTA.capacity) {
            continue;
        }
        let found = denials::judge(&calls, &QUOTA, &RULES);
        assert_eq!(
            found.violations,
            naive_unexplained(&calls),
            "seed {seed}: {calls:?}"
        );
        counts[0] += found.violations;
        counts[1] += found.denials - found.violations;
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

#[test]
fn the_contradicted_denials_are_those_of_the_definition() {
    let mut counts = [0; 2];
    for seed in 1..=5_000 {
        let calls = random(&mut Dice(seed * 0x9e37_79b9));
        let found = waits::judge(&calls, &QUOTA, &RULES);
        assert_eq!(
            found.violations,
            naive_contradicted(&calls),
            "seed {seed}: {calls:?}"
        );
        counts[0] += found.violations;
        counts[1] += found.judged - found.violations;
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}
