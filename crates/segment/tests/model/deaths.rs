//! A caller is killed before its first, second, … write.

use crate::births::two_births;
use crate::explore::holds;
use crate::memory::{IMMORTAL, K, Life, Meant, Memory, START, X, Y, at, live};
use crate::replay::{assert_bounded, assert_nobody_is_blocked, grants};
use gcra::Timestamp;
use loom::thread::spawn;
use segment::slots::word::Word;

/// The numbers of writes after which a caller is killed. The range covers every call of these
/// scenarios that does not lose two races.
const LIVES: std::ops::Range<Life> = 0..5;

#[test]
fn one_of_two_births_dies() {
    for life in LIVES {
        for lives in [[life, IMMORTAL], [IMMORTAL, life]] {
            let name = format!("two births die after {lives:?} writes");
            holds(&name, 3, move || two_births::<Meant>(lives));
        }
    }
}

#[test]
fn both_births_die() {
    for lives in [[1, 1], [1, 2], [2, 1], [2, 2]] {
        let name = format!("two births die after {lives:?} writes");
        holds(&name, 3, move || two_births::<Meant>(lives));
    }
}

#[test]
fn a_caller_of_a_live_bucket_dies() {
    for life in 0..3 {
        let name = format!("a live bucket's caller dies after {life} writes");
        holds(&name, 3, move || {
            let memory = Memory::still(&[live(K, 10, at(4)), Word::EMPTY], START);
            let mortal = memory.mortal::<Meant>(K, life);
            let mortal = spawn(move || [mortal.take(3, 10), mortal.take(3, 10)]);
            let here = memory.caller(K).take(3, 10);
            let [first, second] = mortal.join().unwrap();
            let granted = grants(3, &[first, second, here]);
            assert_bounded(START - 6, &granted, 10);
            // One write both grants and takes the tokens, so a death loses no token.
            let record = memory.record(K).expect("it was not full");
            let taken = (record.empty_at() - (START - 6)) / 3;
            assert_eq!(taken, granted.len() as u64);
            assert_nobody_is_blocked(&memory, &[K, Y]);
        });
    }
}

#[test]
fn a_reclaimer_dies() {
    for life in 0..3 {
        let name = format!("a reclaimer dies after {life} writes");
        holds(&name, 3, move || {
            let memory = Memory::running(&[live(K, 10, at(6)), live(Y, 10, at(9))], START);
            let mortal = memory.mortal::<Meant>(X, life);
            let mortal = spawn(move || {
                mortal.until(at(7));
                mortal.take(1, 10)
            });
            let here = memory.caller(K);
            let here = [here.take(4, 10), here.take(6, 10)];
            mortal.join().unwrap();
            let mut granted = grants(4, &here[..1]);
            granted.extend(grants(6, &here[1..]));
            assert_bounded(START - 4, &granted, 10);
            assert_nobody_is_blocked(&memory, &[K, Y]);
        });
    }
}

#[test]
fn an_evictor_dies() {
    for life in 0..3 {
        let name = format!("an evictor dies after {life} writes");
        holds(&name, 3, move || {
            let slots = [live(X, 10, at(9)), live(Y, 10, at(8))];
            let memory = Memory::evicting(&slots, START);
            let mortal = memory.mortal::<Meant>(K, life);
            let mortal = spawn(move || mortal.take(6, 10));
            let here = memory.caller(K).take(6, 10);
            let granted = grants(6, &[mortal.join().unwrap(), here]);
            assert_bounded(Timestamp::ZERO, &granted, 10);
            memory.record(K);
            assert_nobody_is_blocked(&memory, &[K, Y]);
        });
    }
}
