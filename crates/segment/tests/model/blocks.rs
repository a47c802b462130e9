//! A block races with resets, takes, other blocks, and a batch that gives its tokens back.

use crate::explore::{holds, holds_for_three};
use crate::memory::{K, Meant, Memory, START, X, Y, at, live};
use crate::replay::assert_nobody_is_blocked;
use gcra::{Denial, Verdict};
use loom::thread::spawn;
use segment::slots::word::Word;

const PAUSE: u64 = 1_000;

/// A bucket of 10 tokens that cost a tick each, which is empty at the start.
fn empty() -> Word {
    live(K, 10, START + 10)
}

#[test]
fn two_blocks_at_once_are_one() {
    holds_for_three("two blocks, and one some ticks later", || {
        let memory = Memory::running(&[empty(), Word::EMPTY], at(0));
        let other = memory.caller(K);
        let other = spawn(move || other.block(10, 10, PAUSE));
        let late = memory.caller(K);
        let late = spawn(move || {
            late.until(at(5));
            late.block(10, 10, PAUSE)
        });
        let here = memory.caller(K).block(10, 10, PAUSE);
        let blocks = [here, other.join().unwrap(), late.join().unwrap()];
        let record = memory.record(K).expect("it was not full");
        assert_eq!(blocks.iter().filter(|&&it| it).count(), 1, "{blocks:?}");
        assert!(record.is_held());
        let ends = [at(PAUSE - 10), at(5 + PAUSE - 10)];
        assert!(ends.contains(&record.empty_at()), "{record:?}");
    });
}

#[test]
fn a_denial_does_not_extend_a_block_and_the_next_lack_of_tokens_blocks_again() {
    holds("one caller after another", 1, || {
        let memory = Memory::running(&[empty(), Word::EMPTY], at(0));
        let caller = memory.caller(K);
        assert!(caller.block(10, 10, PAUSE));
        // In the last ten ticks of the block, the state is as if the tokens had just been taken.
        for ticks in [1, 500, PAUSE - 10, PAUSE - 1] {
            caller.until(at(ticks));
            assert!(!caller.take(10, 10).unwrap().granted(), "{ticks}");
            assert!(!caller.block(10, 10, PAUSE), "{ticks}");
        }
        caller.until(at(PAUSE));
        assert!(!caller.block(10, 10, PAUSE), "it holds tokens");
        assert!(caller.take(10, 10).unwrap().granted());
        assert!(!caller.take(10, 10).unwrap().granted());
        assert!(caller.block(10, 10, PAUSE));
        let record = memory.record(K).unwrap();
        assert_eq!(record.empty_at(), at(2 * PAUSE - 10));
    });
}

#[test]
fn a_block_races_with_a_reset() {
    for life in [0, 1, u32::MAX] {
        let name = format!("a block that dies after {life} writes, and a reset");
        holds(&name, 3, move || {
            let memory = Memory::still(&[empty(), Word::EMPTY], START);
            let blocker = memory.mortal::<Meant>(K, life);
            let blocker = spawn(move || blocker.block(1, 10, PAUSE));
            memory.caller(K).reset();
            blocker.join().unwrap();
            // A block after the reset finds a full bucket.
            assert_eq!(memory.record(K), None);
            assert_nobody_is_blocked(&memory, &[K, Y]);
        });
    }
}

#[test]
fn a_block_races_with_a_take_of_the_last_token() {
    holds("a block and a take", 3, || {
        // One token is left, so the take is granted. A block before the take changes nothing,
        // because a step of one token would be granted.
        let memory = Memory::still(&[live(K, 10, START + 9), Word::EMPTY], START);
        let blocker = memory.caller(K);
        let blocker = spawn(move || blocker.block(1, 10, PAUSE));
        let outcome = memory.caller(K).take(1, 10).unwrap();
        let blocked = blocker.join().unwrap();
        let record = memory.record(K).expect("it was not full");
        assert!(outcome.granted());
        assert_eq!(record.is_held(), blocked);
        let expected = if blocked { START + PAUSE - 1 } else { START };
        assert_eq!(record.empty_at(), expected);
    });
}

#[test]
fn no_block_outlives_a_batch_whose_tokens_it_lacked() {
    holds_for_three("a batch that is undone, a denial and a block", || {
        let memory = Memory::still(&[live(K, 10, START + 9), Word::EMPTY], START);
        let batch = memory.caller(K);
        let batch = spawn(move || batch.take_and_undo(1, 10));
        let here = memory.caller(K);
        let outcome = here.take(1, 10).unwrap();
        let denied = outcome.verdict == Verdict::Denied(Denial::Insufficient);
        let blocked = denied && here.block(1, 10, PAUSE);
        let was_granted = batch.join().unwrap();
        let record = memory.record(K).expect("it was not full");
        assert!(
            !record.is_held(),
            "blocked: {blocked}, batch: {was_granted}"
        );
        // The only token was taken once, or is still there.
        let taken = u64::from(outcome.granted());
        assert_eq!(record.empty_at(), START - 1 + taken);
    });
}

#[test]
fn an_operators_block_is_not_extended_by_denials_and_shortens_no_other() {
    holds("one caller after another", 1, || {
        let memory = Memory::running(&[Word::EMPTY, Word::EMPTY], at(0));
        let caller = memory.caller(K);
        caller.block_now(10, 10, 100);
        assert!(!caller.take(10, 10).unwrap().granted());
        assert!(!caller.block(10, 10, PAUSE), "it is blocked already");
        caller.block_now(10, 10, 50);
        let record = memory.record(K).unwrap();
        assert_eq!((record.empty_at(), record.is_held()), (at(90), true));
        caller.until(at(100));
        assert!(caller.take(10, 10).unwrap().granted());
        assert!(caller.block(10, 10, PAUSE));
        caller.block_now(10, 10, 200);
        assert_eq!(memory.record(K).unwrap().empty_at(), at(100 + PAUSE - 10));
    });
}

#[test]
fn an_operators_block_races_with_a_take_and_a_reset() {
    for is_empty in [true, false] {
        let name = format!("a block of an empty slot: {is_empty}, a take and a reset");
        holds_for_three(&name, move || {
            let slot = if is_empty {
                Word::EMPTY
            } else {
                live(K, 10, START + 9)
            };
            let memory = Memory::still(&[slot, Word::EMPTY], START);
            let operator = memory.caller(K);
            let operator = spawn(move || operator.block_now(1, 10, PAUSE));
            let other = memory.caller(K);
            let other = spawn(move || other.reset());
            memory.caller(K).take(1, 10).unwrap();
            operator.join().unwrap();
            other.join().unwrap();
            // The record has the mark of a block only in the state of that block. A mark in another
            // state would keep denials from blocking the bucket.
            if let Some(record) = memory.record(K) {
                let of_block = record.empty_at() == START + PAUSE - 1;
                assert_eq!(record.is_held(), of_block, "{record:?}");
            }
            assert_nobody_is_blocked(&memory, &[K, Y]);
        });
    }
}

#[test]
fn a_blocked_bucket_is_not_reclaimed_before_it_is_full() {
    holds("a block and a claim of another key", 3, || {
        let memory = Memory::running(&[empty()], at(0));
        let blocker = memory.caller(K);
        let blocker = spawn(move || blocker.block(1, 10, PAUSE));
        let other = memory.caller(X);
        other.until(at(9));
        let outcome = other.take(10, 10).unwrap();
        let blocked = blocker.join().unwrap();
        assert!(!outcome.granted());
        let record = memory.record(K).expect("nobody has taken its slot");
        assert_eq!(record.is_held(), blocked);
    });
}
