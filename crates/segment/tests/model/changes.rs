//! Refunds, resets and proposals of a first state race with calls that take tokens.

use crate::explore::{holds, holds_for_three};
use crate::memory::{K, Meant, Memory, START, X, Y, at, live};
use crate::replay::{assert_bounded, assert_nobody_is_blocked, grants};
use gcra::Timestamp;
use loom::thread::spawn;
use segment::slots::word::Word;

#[test]
fn a_refund_races_with_takes() {
    holds("a refund and two takes", 3, || {
        // The bucket holds 5 of 10 tokens. That is enough for one take of 4. After the refund, it
        // is enough for two takes.
        let memory = Memory::still(&[live(K, 10, at(5)), Word::EMPTY], START);
        let refunder = memory.caller(K);
        let refunder = spawn(move || refunder.refund(3, 10));
        let caller = memory.caller(K);
        let granted = grants(4, &[caller.take(4, 10), caller.take(4, 10)]);
        refunder.join().unwrap();
        let record = memory.record(K).expect("it was not full");
        let taken = 4 * granted.len() as u64;
        assert!(granted.len() == 1 || granted.len() == 2);
        assert_eq!(record.empty_at(), START - 5 + taken - 3, "tokens got lost");
        assert_nobody_is_blocked(&memory, &[K, Y]);
    });
}

#[test]
fn a_refund_races_with_a_reclaim() {
    holds("a refund of a record that is forgotten", 3, || {
        let memory = Memory::running(&[live(K, 10, at(6))], START);
        let refunder = memory.caller(K);
        let refunder = spawn(move || refunder.refund(3, 10));
        let other = memory.caller(X);
        other.until(at(4));
        let early = other.take(10, 10);
        other.until(at(7));
        let late = other.take(10, 10);
        refunder.join().unwrap();
        // The refund may make the record full by tick 4, so that the early take gets the slot. It
        // never changes the record of another key.
        let granted = grants(10, &[early, late]);
        assert_eq!(granted.len(), 1);
        let record = memory.record(X).expect("it was taken from");
        assert_eq!(record.empty_at(), granted[0].0);
        assert!(memory.record(K).is_none());
    });
}

#[test]
fn a_reset_races_with_takes() {
    holds_for_three("a reset and two takers", || {
        let memory = Memory::still(&[live(K, 10, at(5)), Word::EMPTY], START);
        let resetter = memory.caller(K);
        let resetter = spawn(move || resetter.reset());
        let other = memory.caller(K);
        let other = spawn(move || other.take(5, 10));
        let here = memory.caller(K).take(5, 10);
        resetter.join().unwrap();
        let granted = grants(5, &[here, other.join().unwrap()]);
        // Without the reset, the bucket holds enough for one take. After the reset, the bucket
        // holds enough for two takes.
        assert!((1..=2).contains(&granted.len()), "{granted:?}");
        let record = memory.record(K);
        let held = record.map_or(10, |word| START - word.empty_at());
        assert!([0, 5, 10].contains(&held), "{record:?}");
        assert_nobody_is_blocked(&memory, &[K, Y]);
    });
}

#[test]
fn a_reset_races_with_births() {
    holds_for_three("a reset while the key is born", || {
        let memory = Memory::running(&[live(X, 10, at(6)), Word::EMPTY], at(5));
        let resetter = memory.caller(K);
        let resetter = spawn(move || resetter.reset());
        let other = memory.caller(K);
        let other = spawn(move || {
            other.until(at(7));
            other.take(10, 10)
        });
        let here = memory.caller(K).take(10, 10);
        resetter.join().unwrap();
        let granted = grants(10, &[here, other.join().unwrap()]);
        assert!((1..=2).contains(&granted.len()), "{granted:?}");
        memory.record(K);
        assert_nobody_is_blocked(&memory, &[K, Y]);
    });
}

#[test]
fn a_bootstrap_races_with_a_take() {
    for life in [0, 1, 2, u32::MAX] {
        let name = format!("a bootstrap that dies after {life} writes, and a take");
        holds(&name, 3, move || {
            let memory = Memory::running(&[live(X, 10, at(6)), Word::EMPTY], at(5));
            let proposer = memory.mortal::<Meant>(K, life);
            let proposer = spawn(move || proposer.bootstrap(-2));
            let caller = memory.caller(K);
            caller.until(at(7));
            let outcome = caller.take(4, 10).unwrap();
            proposer.join().unwrap();
            // The first caller created the record, and the second caller used that record.
            let record = memory.record(K).expect("somebody made it");
            if outcome.granted() {
                assert_eq!(record.empty_at(), at(7) - 10 + 4);
                assert_eq!(record.full_at(), at(7) + 4);
            } else {
                // The proposed bucket has a debt of two ticks at the instant of the proposal. This
                // instant is 5 or 7.
                assert!([at(7), at(9)].contains(&record.empty_at()), "{record:?}");
            }
        });
    }
}

#[test]
fn a_raise_races_with_a_take() {
    // The bucket has no record, or one that another key may reclaim.
    for first in [live(X, 10, at(6)), live(K, 10, at(5) - 10)] {
        for life in [0, 1, 2, u32::MAX] {
            let name = format!("a raise of {first:?} that dies after {life} writes, and a take");
            holds(&name, 3, move || {
                let memory = Memory::running(&[first, Word::EMPTY], at(7));
                let raiser = memory.mortal::<Meant>(K, life);
                let raiser = spawn(move || raiser.raise(at(9)));
                let outcome = memory.caller(K).take(4, 10).unwrap();
                raiser.join().unwrap();
                let record = memory.record(K).expect("somebody made it");
                // A take moves the record to `at(1)`. If the raise comes before the take, the take
                // is denied. If it comes after the take, it moves the record forward.
                let taken = at(7) - 10 + 4;
                if !outcome.granted() || life == u32::MAX {
                    assert_eq!(record.empty_at(), at(9));
                } else {
                    assert!([taken, at(9)].contains(&record.empty_at()), "{record:?}");
                }
            });
        }
    }
}

#[test]
fn a_proposed_state_races_with_a_take() {
    holds("a take with a proposal, and one without", 2, || {
        let memory = Memory::running(&[live(X, 10, at(6)), Word::EMPTY], at(5));
        let proposer = memory.caller(K);
        let proposer = spawn(move || proposer.take_first(4, 10, at(5)));
        let caller = memory.caller(K);
        caller.until(at(7));
        let here = caller.take(8, 10);
        let there = proposer.join().unwrap();
        let mut granted = grants(8, &[here]);
        granted.extend(grants(4, &[there]));
        assert_eq!(granted.len(), 1, "the first decided the state");
        assert_bounded(Timestamp::ZERO, &granted, 10);
        assert!(memory.record(K).is_some());
    });
}
