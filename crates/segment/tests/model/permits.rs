//! Processes take, give back and take over permits at the same time. Process 1 is dead.
//!
//! After each call, the judge checks that no more processes hold permits than the limit, and that
//! all permits were held by live processes at an instant of each denied call. At the end of each
//! scenario, every free permit can be taken.

use crate::cells::{Guards, Meant, Memory, Reads};
use crate::explore::{holds, holds_for_three, is_violated};
use crate::judge::{K, X, held, process};
use loom::thread::spawn;
use segment::permits::protocol::{Permit, Refusal};
use segment::permits::word::{Tag, freed};
use segment::slots::counters::Event;
use segment::slots::word::Word;

#[test]
fn two_callers_take_over_one_cell() {
    for slots in [vec![held(K, 0, 1)], vec![Word::EMPTY, held(K, 0, 1)]] {
        holds("two takers of a dead cell", 3, move || {
            let memory = Memory::new(&slots, 1, Reads::Latest);
            let other = memory.caller(K, 2);
            let other = spawn(move || other.acquire().is_some());
            let here = memory.caller(K, 3).acquire().is_some();
            assert!(here ^ other.join().unwrap(), "one of them takes it");
            assert_eq!(memory.counted(Event::PermitTakenBack), 1);
            memory.assert_usable();
        });
    }
}

#[test]
fn three_callers_take_over_two_cells() {
    holds_for_three("three takers of two dead cells", || {
        let memory = Memory::new(&[held(K, 0, 1), held(K, 1, 1)], 2, Reads::Latest);
        let others = [2, 3].map(|number| memory.caller(K, number));
        let others = others.map(|other| spawn(move || other.acquire().is_some()));
        let mut taken = usize::from(memory.caller(K, 4).acquire().is_some());
        for other in others {
            taken += usize::from(other.join().unwrap());
        }
        assert_eq!(taken, 2);
        memory.assert_usable();
    });
}

#[test]
fn a_holder_dies_during_a_call() {
    holds("a holder that dies", 3, || {
        let memory = Memory::new(&[held(K, 0, 2), held(K, 1, 3)], 2, Reads::Latest);
        let holder = memory.caller(K, 2);
        let holder = spawn(move || holder.die());
        memory.caller(K, 4).acquire();
        holder.join().unwrap();
        memory.assert_usable();
    });
}

#[test]
fn two_keys_want_one_dead_cell() {
    for slots in [vec![held(K, 0, 1)], vec![held(X, 1, 5), held(K, 0, 1)]] {
        holds("a take-over and a reclaim", 3, move || {
            let memory = Memory::new(&slots, 1, Reads::Latest);
            let other = memory.caller(X, 2);
            let other = spawn(move || other.acquired(1).unwrap());
            let here = memory.caller(K, 3).acquired(1).unwrap();
            let both = [here, other.join().unwrap()];
            assert_eq!(both.iter().flatten().count(), 1, "{both:?}");
            assert!(both.contains(&Err(Refusal::TableFull)), "{both:?}");
            assert_eq!(memory.counted(Event::PermitTakenBack), 1);
        });
    }
}

/// A process has lost its lock, and releases its permit late. Meanwhile another process takes the
/// permit over, and a third one wants it.
fn late_release<G: Guards>() {
    let memory = Memory::new(&[held(K, 0, 1)], 1, Reads::Latest);
    let late = memory.guarded::<G>(K, 1);
    let third = memory.guarded::<G>(K, 3);
    let late = spawn(move || {
        late.release_first(0, 0);
        third.acquire();
    });
    memory.guarded::<G>(K, 2).acquire();
    late.join().unwrap();
    memory.assert_usable();
}

struct UncheckedRelease;
impl Guards for UncheckedRelease {
    const CHECK_OWNER: bool = false;
}

#[test]
fn a_late_release_does_not_free_the_permit_of_another_process() {
    holds("a take-over and a late release", 3, late_release::<Meant>);
    let scenario = late_release::<UncheckedRelease>;
    is_violated(
        "control: release without owner",
        3,
        "too many hold",
        scenario,
    );
}

/// Process 2 gives its permit back before process 3 takes one, `moves` times. So one of two permits
/// is always free.
fn moving_holder<G: Guards>(moves: u64) {
    // Process 4 begins with the first cell, and process 3 with the second one.
    let slots = [held(K, 0, 2), freed(held(K, 1, 5))];
    let memory = Memory::new(&slots, 2, Reads::Latest);
    let [first, second] = [2, 3].map(|number| memory.guarded::<G>(K, number));
    let moving = spawn(move || {
        first.release_first(0, 0);
        let mut permit = second.acquire();
        for _ in 1..moves {
            permit.map(|permit| second.release(permit));
            let back = first.acquire();
            back.map(|permit| first.release(permit));
            permit = second.acquire();
        }
    });
    memory.guarded::<G>(K, 4).acquire();
    moving.join().unwrap();
    memory.assert_usable();
}

struct SingleRead;
impl Guards for SingleRead {
    const READ_TWICE: bool = false;
}

#[test]
fn a_denial_is_true_while_a_holder_moves() {
    holds("a holder moves under a denial", 3, || {
        moving_holder::<Meant>(1);
    });
    holds("a holder moves to and fro under a denial", 2, || {
        moving_holder::<Meant>(2);
    });
    // Before the single read there is a pass that does not ask for owners. It must miss the free
    // permit, too.
    is_violated("control: a single read", 6, "a false denial", || {
        moving_holder::<SingleRead>(2);
    });
}

/// Two processes leave one of two permits to others, and another one takes it.
fn two_leave_one<G: Guards>() {
    let slots = [freed(held(K, 0, 5)), freed(held(K, 1, 5))];
    let memory = Memory::new(&slots, 2, Reads::Latest);
    let (first, second) = (memory.guarded::<G>(K, 2), memory.guarded::<G>(K, 3));
    let other = memory.caller(K, 4);
    let first = spawn(move || {
        let is_granted = first.acquire_leaving(1).is_some();
        assert!(other.acquire().is_some(), "no permit is left");
        is_granted
    });
    let second = second.acquire_leaving(1).is_some();
    assert!(first.join().unwrap() ^ second, "one of them takes a permit");
}

struct AnyCell;
impl Guards for AnyCell {
    const LOWEST_CELLS: bool = false;
}

#[test]
fn callers_that_leave_a_permit_never_take_it() {
    holds("two leave a permit", 3, two_leave_one::<Meant>);
    is_violated(
        "control: any cell",
        3,
        "no permit is left",
        two_leave_one::<AnyCell>,
    );
}

/// Two processes create one cell. The first slot becomes free between their calls, so that they
/// choose different slots.
fn two_births<G: Guards>(lives: [u32; 2]) {
    let memory = Memory::new(&[held(X, 0, 5), Word::EMPTY], 1, Reads::Weak);
    let other = memory.guarded::<G>(K, 2).mortal(lives[0]);
    let other = spawn(move || other.acquired(1));
    memory.caller(X, 5).release_first(0, 0);
    let here = memory.guarded::<G>(K, 3).mortal(lives[1]).acquired(1);
    let both = [here, other.join().unwrap()];
    if lives == [u32::MAX; 2] {
        assert_eq!(both.iter().flatten().flatten().count(), 1, "{both:?}");
    }
    memory.assert_usable();
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
fn one_cell_is_created_in_two_slots() {
    holds("one cell, two slots", 3, || {
        two_births::<Meant>([u32::MAX; 2]);
    });
    is_violated("control: no validation", 3, "too many hold", || {
        two_births::<Unvalidated>([u32::MAX; 2]);
    });
    is_violated("control: no fence", 3, "too many hold", || {
        two_births::<Unfenced>([u32::MAX; 2]);
    });
}

#[test]
fn a_creator_of_a_cell_dies() {
    for life in 0..3 {
        for lives in [[life, u32::MAX], [u32::MAX, life]] {
            let name = format!("one cell, two slots, deaths after {lives:?} writes");
            holds(&name, 3, move || two_births::<Meant>(lives));
        }
    }
}

#[test]
fn a_claim_of_a_dead_process_blocks_nobody() {
    holds("a dead claim of another key", 3, || {
        let claim = Tag::new(X, 0).claimed(process(1), 9);
        let memory = Memory::new(&[claim], 1, Reads::Latest);
        let other = memory.caller(X, 2);
        let other = spawn(move || other.acquired(1).unwrap());
        let here = memory.caller(K, 3).acquired(1).unwrap();
        let both = [here, other.join().unwrap()];
        assert_eq!(both.iter().flatten().count(), 1, "{both:?}");
    });
}

/// A process has lost its lock, and renews its permit while another process takes it over.
fn renewal<G: Guards>() {
    let memory = Memory::new(&[held(K, 0, 1)], 1, Reads::Latest);
    let holder = memory.guarded::<G>(K, 1);
    let word = held(K, 0, 1);
    let holder = spawn(move || holder.renew(Permit { place: 0, word }));
    let taken = memory.guarded::<G>(K, 2).acquire().is_some();
    assert!(taken ^ holder.join().unwrap());
}

struct SameTicket;
impl Guards for SameTicket {
    const NEW_TICKET: bool = false;
}

#[test]
fn a_renewed_permit_is_not_taken_over() {
    holds("a renewal and a take-over", 3, renewal::<Meant>);
    is_violated(
        "control: a renewal keeps the ticket",
        3,
        "too many hold",
        renewal::<SameTicket>,
    );
}

/// A process finds the owner of the only permit dead. Before it takes the permit over, another
/// process has taken it over and given it back, and a new process with the number `again` holds it.
fn later_process(again: u64) {
    // The dead process held the permit with the ticket 0.
    let memory = Memory::new(&[held(K, 0, 1)], 1, Reads::Latest);
    let other = memory.caller(K, 2);
    let later = memory.caller(K, again).first_ticket(0);
    let other = spawn(move || {
        if let Some(permit) = other.acquire() {
            other.release(permit);
        }
        later.start();
        later.acquire();
    });
    memory.caller(K, 3).acquire();
    other.join().unwrap();
}

#[test]
fn the_permit_of_a_later_process_is_not_taken_over() {
    holds("a later process", 3, || later_process(4));
    is_violated("control: a number used twice", 3, "too many hold", || {
        later_process(1);
    });
}
