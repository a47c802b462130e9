//! Several callers create a record at the same time, for one key or for two keys in one slot.

use crate::explore::{holds, holds_for_three, is_violated};
use crate::memory::{ABANDONED, Guards, IMMORTAL, K, Life, Meant, Memory, START, X, Y, at, live};
use crate::replay::{assert_bounded, assert_explained, assert_nobody_is_blocked, grants};
use gcra::Timestamp;
use loom::thread::spawn;
use segment::slots::word::Word;

/// Runs two calls for one key. Slot 0 becomes free between the calls, so that the calls choose
/// different slots.
pub fn two_births<G: Guards>(lives: [Life; 2]) {
    let memory = Memory::running(&[live(X, 10, at(6)), Word::EMPTY], at(5));
    let early = memory.mortal::<G>(K, lives[0]);
    let late = memory.mortal::<G>(K, lives[1]);
    let early = spawn(move || early.take(10, 10));
    let late = spawn(move || {
        late.until(at(7));
        late.take(10, 10)
    });
    let outcomes = [early.join().unwrap(), late.join().unwrap()];
    let grants = grants(10, &outcomes);
    assert_bounded(Timestamp::ZERO, &grants, 10);
    if lives == [IMMORTAL; 2] {
        assert_explained(Timestamp::ZERO, 10, 10, &outcomes);
        assert_eq!(grants.len(), 1, "a full bucket was denied: {outcomes:?}");
    }
    memory.record(K);
    assert_nobody_is_blocked(&memory, &[K, Y]);
}

struct Unvalidated;
impl Guards for Unvalidated {
    const VALIDATE: bool = false;
}

struct Unfenced;
impl Guards for Unfenced {
    const FENCE: bool = false;
}

#[test]
fn one_key_is_born_in_two_slots() {
    const TWICE: &str = "more than the bucket held";
    holds("one key, two slots", 3, || {
        two_births::<Meant>([IMMORTAL; 2]);
    });
    is_violated("control: no validation", 3, TWICE, || {
        two_births::<Unvalidated>([IMMORTAL; 2]);
    });
    is_violated("control: no fence", 3, TWICE, || {
        two_births::<Unfenced>([IMMORTAL; 2]);
    });
}

#[test]
fn three_callers_give_birth_to_one_key() {
    holds_for_three("one key, two slots, three callers", || {
        let memory = Memory::running(&[live(X, 10, at(6)), Word::EMPTY], at(5));
        let [early, late] = [memory.caller(K), memory.caller(K)];
        let early = spawn(move || early.take(10, 10));
        let late = spawn(move || {
            late.until(at(7));
            late.take(10, 10)
        });
        let here = memory.caller(K).take(10, 10);
        let outcomes = [here, early.join().unwrap(), late.join().unwrap()];
        let grants = grants(10, &outcomes);
        assert_eq!(grants.len(), 1);
        memory.record(K);
    });
}

#[test]
fn a_claim_left_behind_is_finished_by_its_own_key() {
    holds("a dead claim of the same key", 3, || {
        let claim = Word::pending(K, 0xff00, START);
        let memory = Memory::still(&[Word::EMPTY, claim], START);
        let other = memory.caller(K);
        let other = spawn(move || other.take(10, 10));
        let here = memory.caller(K).take(10, 10);
        let outcomes = [here, other.join().unwrap()];
        assert_eq!(grants(10, &outcomes).len(), 1);
        assert_eq!(memory.stolen(), 0);
        assert_nobody_is_blocked(&memory, &[K, Y]);
    });
}

#[test]
fn two_keys_fight_for_one_slot() {
    holds("two keys, one slot", 3, || {
        let memory = Memory::still(&[live(Y, 10, at(3))], at(5));
        let other = memory.caller(K);
        let other = spawn(move || other.take(10, 10));
        let here = memory.caller(X).take(10, 10);
        let outcomes = [here, other.join().unwrap()];
        assert_eq!(grants(10, &outcomes).len(), 1, "{outcomes:?}");
        assert_eq!(memory.stolen(), 0);
    });
}

#[test]
fn two_keys_fight_for_an_abandoned_claim() {
    holds("two keys, an abandoned claim", 3, || {
        let memory = Memory::still(&[Word::pending(X, 0xff00, START)], at(ABANDONED));
        let other = memory.caller(K);
        let other = spawn(move || other.take(10, 10));
        let here = memory.caller(Y).take(10, 10);
        let outcomes = [here, other.join().unwrap()];
        assert_eq!(grants(10, &outcomes).len(), 1, "{outcomes:?}");
        assert_eq!(memory.stolen(), 1);
    });
}

#[test]
fn a_sleeper_whose_claim_was_taken_wakes_up() {
    const LONG: u64 = 1 << 26;
    holds("a stolen claim's owner wakes", 3, || {
        let memory = Memory::running(&[Word::EMPTY], START);
        let sleeper = memory.caller(X);
        let sleeper = spawn(move || sleeper.take(LONG, LONG));
        let here = memory.caller(K);
        here.until(at(ABANDONED));
        let outcomes = [here.take(LONG, LONG), sleeper.join().unwrap()];
        assert_eq!(grants(LONG, &outcomes).len(), 1, "{outcomes:?}");
        assert!(!memory.words()[0].is_pending());
    });
}
