//! Checks that the judge accepts logs of an exact limiter, and rejects them after one wrong call.

mod simulated;

use prove::call::{Call, Kind, Nanos, Outcome, TOKEN};
use prove::rules::Rules;
use prove::{bound, denials, drains, waits};
use simulated::{BUSY, Dice, Fault, Habits};

const HISTORIES: u64 = 300;

/// Returns the number of faults by each rule.
fn violations(calls: &[Call], habits: &Habits) -> [u64; 5] {
    let floor = habits.quota.capacity / 2;
    [
        bound::judge(calls, &habits.quota, &Rules::EXACT).violations,
        denials::judge(calls, &habits.quota, &Rules::EXACT).violations,
        waits::judge(calls, &habits.quota, &Rules::EXACT).violations,
        drains::judge(calls, &habits.quota, &Rules::EXACT).violations,
        bound::judge_above(calls, &habits.quota, &Rules::EXACT, floor).violations,
    ]
}

#[test]
fn exact_histories_are_acquitted_however_their_calls_overlap() {
    let mut kinds = [0_u64; 8];
    for seed in 1..=4 * HISTORIES {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let habits = Habits {
            pause: [200_000, 2_000_000, 6_000_000][dice.index(3)],
            width: [0, 100_000, 3_000_000, 30_000_000][dice.index(4)],
            unknown: [0, 5, 30][dice.index(3)],
            refund: [0, 4, 20][dice.index(3)],
            reset: [0, 50][dice.index(2)],
            lost: [0, 50][dice.index(2)],
            charge: [0, 30][dice.index(2)],
            reserve: [0, 10, 4][dice.index(3)],
            cancel: [0, 10][dice.index(2)],
            undone: [0, 10][dice.index(2)],
            drain: [0, 60][dice.index(2)],
            floor: [0, 3][dice.index(2)],
            ..BUSY
        };
        let calls = habits.history(&mut dice);
        assert_eq!(violations(&calls, &habits), [0; 5], "seed {seed}");
        kinds[0] += calls.iter().filter(|call| call.is_granted()).count() as u64;
        kinds[1] += calls.iter().filter(|call| call.is_denied()).count() as u64;
        for (index, outcome) in [Outcome::Unknown, Outcome::Undone, Outcome::Cancelled]
            .into_iter()
            .enumerate()
        {
            let count = calls.iter().filter(|call| call.outcome == outcome).count();
            kinds[2 + index] += count as u64;
        }
        kinds[5] += calls.iter().filter(|call| call.is_charged()).count() as u64;
        let drained = calls.iter().filter(|call| call.kind == Kind::Drain);
        kinds[6] += drained.count() as u64;
        kinds[7] += calls.iter().filter(|call| call.floor > 0).count() as u64;
    }
    assert!(kinds.iter().all(|&count| count > 3_000), "{kinds:?}");
}

/// Mutates histories with short intervals. Passes each history and the index of a denial in its
/// second half to `mutate`, which returns false to skip the history.
///
/// Returns for each of the three rules the number of mutated histories that break it, and the
/// number of all mutated histories.
fn with_a_denial(mutate: impl Fn(&mut Vec<Call>, usize) -> bool) -> [u64; 4] {
    let mut found = [0; 4];
    for seed in 1..=HISTORIES {
        let mut dice = Dice(seed * 0x9e37_79b9);
        let habits = Habits {
            width: 1_000,
            ..BUSY
        };
        let mut calls = habits.history(&mut dice);
        let later = calls.iter().enumerate().skip(200);
        let denial = later.clone().find(|(_, call)| call.is_denied());
        let Some((index, _)) = denial else { continue };
        assert_eq!(violations(&calls, &habits), [0; 5], "seed {seed}");
        if !mutate(&mut calls, index) {
            continue;
        }
        found[3] += 1;
        for (sum, violations) in found.iter_mut().zip(violations(&calls, &habits)) {
            *sum += u64::from(violations > 0);
        }
    }
    assert!(found[3] > HISTORIES / 2, "{found:?}");
    found
}

#[test]
fn one_grant_added_is_caught() {
    let found = with_a_denial(|calls, index| {
        // Grants a denied call for which the bucket lacked at least a tenth of a token.
        let Outcome::Denied { retry_after } = calls[index].outcome else {
            return false;
        };
        calls[index].outcome = Outcome::Done;
        retry_after > Some(100_000)
    });
    assert_eq!(found[0], found[3], "{found:?}");
}

#[test]
fn one_denial_added_is_caught() {
    let found = with_a_denial(|calls, index| {
        // Denies right before a grant of as many tokens, without another take in between.
        let Some(grant) = calls[index..].iter().position(Call::is_granted) else {
            return false;
        };
        let mut denial = calls[index + grant];
        denial.start -= 1;
        denial.end = denial.start;
        denial.outcome = Outcome::Denied {
            retry_after: Some(1_000_000),
        };
        let before = calls[index + grant - 1].end;
        calls.truncate(index + grant + 1);
        calls.push(denial);
        // At least a tenth of a token was refilled since the call before.
        denial.start > before + 100_000 && spare(calls, index + grant)
    });
    assert_eq!(found[1], found[3], "{found:?}");
}

/// Reports whether the bucket held at least a tenth of a token more than a grant took. For this,
/// checks that the log stays within the bound with a tenth of a token added to the grant.
fn spare(calls: &[Call], index: usize) -> bool {
    let mut more = calls.to_vec();
    more[index].cost += TOKEN / 10;
    bound::judge(&more, &BUSY.quota, &Rules::EXACT).violations == 0
}

#[test]
fn one_shortened_retry_after_is_caught() {
    let found = with_a_denial(|calls, index| {
        // There is no call between these two denials, so the second denial contradicts a shortened
        // wait of the first denial.
        let pair = (index..calls.len() - 1).find(|&index| {
            let [first, second] = [calls[index], calls[index + 1]];
            first.is_denied()
                && second.is_denied()
                && first.cost == second.cost
                && second.start > first.end + 100_000
        });
        let Some(first) = pair else { return false };
        let until_then: Nanos = calls[first + 1].start - calls[first].end;
        calls[first].outcome = Outcome::Denied {
            retry_after: Some(until_then - 50_000),
        };
        true
    });
    assert_eq!(found[2], found[3], "{found:?}");
}

#[test]
fn a_refund_that_is_not_noted_is_caught() {
    let mut caught = 0;
    for seed in 1..=HISTORIES {
        let habits = Habits {
            refund: 10,
            width: 1_000,
            ..BUSY
        };
        let mut calls = habits.history(&mut Dice(seed * 0x9e37_79b9));
        calls.retain(|call| call.kind != Kind::Refund);
        caught += u64::from(violations(&calls, &habits)[0] > 0);
    }
    assert_eq!(caught, HISTORIES);
}

/// Returns the number of histories that a rule rejects because of the fault. Without the fault, all
/// rules must accept them.
fn convicted(rule: usize, fault: Fault, habits: Habits) -> u64 {
    let mut convicted = 0;
    for seed in 1..=HISTORIES {
        let judge = |fault| {
            let habits = Habits { fault, ..habits };
            let calls = habits.history(&mut Dice(seed * 0x9e37_79b9));
            violations(&calls, &habits)
        };
        assert_eq!(judge(None), [0; 5], "seed {seed}");
        convicted += u64::from(judge(Some(fault))[rule - 1] > 0);
    }
    convicted
}

#[test]
fn a_charge_that_takes_nothing_is_caught() {
    let habits = Habits { charge: 20, ..BUSY };
    assert_eq!(convicted(1, Fault::ForgottenCharge, habits), HISTORIES);
}

#[test]
fn a_reservation_whose_debt_is_forgotten_is_caught() {
    let habits = Habits {
        reserve: 10,
        ..BUSY
    };
    assert_eq!(convicted(1, Fault::ForgottenDebt, habits), HISTORIES);
}

#[test]
fn a_cancel_of_the_whole_cost_is_caught() {
    let habits = Habits {
        reserve: 2,
        cancel: 4,
        greatest_cost: 10,
        ..BUSY
    };
    let convicted = convicted(1, Fault::WholeCancel, habits);
    assert!(convicted > HISTORIES / 2, "{convicted}");
}

#[test]
fn a_late_give_back_of_the_whole_cost_is_caught() {
    let habits = Habits {
        undone: 4,
        alone: true,
        cancel: 8,
        greatest_cost: 10,
        pause: 8_000_000,
        ..BUSY
    };
    let convicted = convicted(1, Fault::LateGiveBack, habits);
    assert!(convicted > HISTORIES / 2, "{convicted}");
}

#[test]
fn a_block_or_a_drain_that_is_forgotten_is_caught() {
    let habits = Habits { drain: 20, ..BUSY };
    assert_eq!(convicted(4, Fault::ForgottenDrain, habits), HISTORIES);
}

#[test]
fn a_floor_that_is_checked_too_late_is_caught() {
    let habits = Habits { floor: 2, ..BUSY };
    assert_eq!(convicted(5, Fault::CheckedFloor, habits), HISTORIES);
}
