//! Checks that the judge accepts logs of exact quotas and lockouts, and rejects those of wrong
//! ones.

use crate::simulated::Dice;
use prove::call::{Call, Kind, Nanos, Outcome, TOKEN, Tokens};
use prove::lockouts::{self, Lockout};
use prove::rules::Rules;
use prove::windows::{self, Windows};

const HISTORIES: u64 = 200;
const CALLS: usize = 600;
const MILLISECOND: Nanos = 1_000_000;

/// A fault of a limiter that is not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Every second call of a lockout misses the block that the previous call began.
    CheckedBefore,
    /// A denial begins the block again.
    Renewed,
    /// Blocks do not become longer.
    Constant,
    /// A window starts at its first call.
    FirstHit,
    /// The tokens of a window are given back in the next one.
    LateGiveBack,
    /// A window grants a quarter too much. Calls that overlap its ends are not judged.
    TooMuch,
}

/// Returns a call as its caller observed it. The interval may be wider than the call.
fn seen(dice: &mut Dice, now: Nanos, kind: Kind, cost: u64, outcome: Outcome) -> Call {
    let width = [0, MILLISECOND, 5 * MILLISECOND][dice.index(3)];
    let unknown = outcome == Outcome::Done && dice.one_in(20);
    Call {
        host: 0,
        start: now - dice.below(width + 1),
        end: now + dice.below(width + 1),
        kind,
        cost: Tokens::from(cost) * TOKEN,
        floor: 0,
        outcome: if unknown { Outcome::Unknown } else { outcome },
        wait: 0,
    }
}

const LOCKOUT: Lockout = Lockout {
    attempts: 3,
    block: 20 * MILLISECOND,
    factor: 2_000,
    longest: 300 * MILLISECOND,
    unit: 2_048,
};

/// Returns a history of a lockout, which remembers its failures and the end of the block.
fn attempts(dice: &mut Dice, fault: Option<Fault>) -> Vec<Call> {
    let (mut now, mut failures, mut until) = (1_000 * MILLISECOND, 0_u32, 0);
    let mut before = (0, 0);
    let mut calls = Vec::new();
    for number in 0..CALLS {
        now += dice.below(4 * MILLISECOND);
        if dice.one_in(60) {
            (failures, until) = (0, 0);
            before = (0, 0);
            calls.push(seen(dice, now, Kind::Reset, 0, Outcome::Done));
            continue;
        }
        let state = (failures, until);
        if fault == Some(Fault::CheckedBefore) && number % 2 == 0 {
            until = before.1;
        }
        before = state;
        let (block, length) = (LOCKOUT.block, LOCKOUT.longest);
        if now < until {
            let retry_after = Some(until - now);
            if fault == Some(Fault::Renewed) {
                until = now + block;
            }
            calls.push(seen(
                dice,
                now,
                Kind::Take,
                1,
                Outcome::Denied { retry_after },
            ));
            continue;
        }
        until = state.1.max(until);
        failures += 1;
        if let Some(more) = failures.checked_sub(3) {
            let more = if fault == Some(Fault::Constant) {
                0
            } else {
                more
            };
            until = now + (block << more.min(10)).min(length);
        }
        calls.push(seen(dice, now, Kind::Take, 1, Outcome::Done));
    }
    calls
}

/// The length of a window. It is long compared with a call.
const LENGTH: Nanos = 400 * MILLISECOND;
const LIMIT: u64 = 60;

fn starts() -> Vec<Nanos> {
    (1..9)
        .map(|number| 900 * MILLISECOND + number * LENGTH)
        .collect()
}

/// Returns a history of a quota, which counts the tokens of the window.
fn counts(dice: &mut Dice, fault: Option<Fault>) -> Vec<Call> {
    let (mut now, mut used, mut end) = (1_000 * MILLISECOND, 0_u64, 0);
    let more = if fault == Some(Fault::TooMuch) {
        LIMIT / 4
    } else {
        0
    };
    let (mut calls, mut owed) = (Vec::new(), 0);
    for _ in 0..CALLS {
        now += dice.below(8 * MILLISECOND);
        if now >= end {
            used = 0;
            let starts = starts();
            let next = starts.iter().find(|&&start| start > now);
            end = match fault {
                Some(Fault::FirstHit) => now + LENGTH,
                _ => next.copied().unwrap_or(Nanos::MAX),
            };
        }
        let cost = 1 + dice.below(3);
        if dice.one_in(30) {
            used = used.saturating_sub(cost);
            calls.push(seen(dice, now, Kind::Refund, cost, Outcome::Done));
            continue;
        }
        if dice.one_in(40) {
            // A charge may exceed the limit.
            let cost = 10 * cost;
            used += cost;
            calls.push(seen(dice, now, Kind::Charge, cost, Outcome::Done));
            continue;
        }
        if dice.one_in(150) {
            used = 0;
            let lost = seen(dice, now, Kind::Lost, 0, Outcome::Done);
            let outcome = Outcome::Done;
            calls.push(Call { outcome, ..lost });
            continue;
        }
        if fault == Some(Fault::LateGiveBack) && owed > 0 && used > owed {
            // The tokens were taken in an earlier window.
            (used, owed) = (used - owed, 0);
        }
        let outcome = if used + cost > LIMIT + more {
            Outcome::Denied {
                retry_after: Some(end - now).filter(|_| end < Nanos::MAX),
            }
        } else if dice.one_in(10) {
            owed = cost;
            Outcome::Undone
        } else {
            used += cost;
            Outcome::Done
        };
        calls.push(seen(dice, now, Kind::Take, cost, outcome));
    }
    calls
}

/// Returns the number of histories that break each rule.
fn broken(fault: Option<Fault>, quota: bool) -> [u64; 3] {
    let mut broken = [0; 3];
    for seed in 1..=HISTORIES {
        let dice = &mut Dice(seed * 0x9e37_79b9);
        let found = if quota {
            let windows = Windows::new(LIMIT, 0, &starts());
            windows::judge(&counts(dice, fault), &windows, &Rules::EXACT)
        } else {
            lockouts::judge(&attempts(dice, fault), &LOCKOUT, &Rules::EXACT)
        };
        for (sum, found) in broken.iter_mut().zip(&found) {
            *sum += u64::from(found.count > 0);
            assert!(
                fault.is_some() || found.count == 0,
                "seed {seed}: {}",
                found.first
            );
        }
    }
    broken
}

#[test]
fn exact_lockouts_and_quotas_are_acquitted() {
    for quota in [false, true] {
        assert_eq!(broken(None, quota), [0; 3]);
    }
}

#[test]
fn wrong_lockouts_and_quotas_are_convicted() {
    for (fault, quota, rules) in [
        (Fault::CheckedBefore, false, &[0][..]),
        (Fault::Renewed, false, &[2]),
        (Fault::Constant, false, &[0]),
        (Fault::FirstHit, true, &[1, 2]),
        (Fault::LateGiveBack, true, &[0]),
        (Fault::TooMuch, true, &[0]),
    ] {
        let broken = broken(Some(fault), quota);
        let is_broken = |&rule: &usize| broken[rule] > HISTORIES / 2;
        assert!(rules.iter().all(is_broken), "{fault:?}: {broken:?}");
    }
}
