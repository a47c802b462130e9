//! A caller stalls between its clock reading and its write, while other callers advance the clock.

use crate::explore::{holds, is_violated};
use crate::memory::{Guards, IMMORTAL, K, Meant, Memory, START, X, Y, Z, at, live};
use crate::replay::{assert_bounded, assert_explained, assert_nobody_is_blocked, excess, grants};
use gcra::Timestamp;
use loom::thread::spawn;
use segment::slots::word::Word;

#[test]
fn a_record_is_reclaimed_under_a_stalled_caller() {
    holds("stalled caller, reclaimed record", 3, || {
        // The bucket holds 4 of 10 tokens at the start, and is full at tick 6.
        let memory = Memory::running(&[live(K, 10, at(6)), live(Y, 10, at(1000))], START);
        let stalled = memory.caller(K);
        let stalled = spawn(move || stalled.take(6, 10));
        let other = memory.caller(X);
        other.until(at(7));
        let reclaimed = other.take(1, 10);
        let outcome = stalled.join().unwrap();
        let of_key = grants(6, &[outcome]);
        assert_bounded(START - 4, &of_key, 10);
        let served = grants(1, &[reclaimed]).len() + of_key.len();
        assert!(served >= 1, "neither had the slot");
        assert_nobody_is_blocked(&memory, &[K]);
    });
}

/// Stalls a caller of the key before its claim. Meanwhile another caller creates the record, the
/// bucket becomes full, and a third caller takes its slot.
fn forgotten_meanwhile<G: Guards>() {
    let memory = Memory::running(&[Word::EMPTY, Word::EMPTY], START);
    let stalled = memory.mortal::<G>(K, IMMORTAL);
    let stalled = spawn(move || stalled.take(6, 10));
    let first = memory.mortal::<G>(K, IMMORTAL).take(6, 10);
    memory.until(at(7));
    memory.mortal::<G>(X, IMMORTAL).take(1, 10);
    memory.until(at(9));
    let outcomes = [first, stalled.join().unwrap()];
    assert_bounded(Timestamp::ZERO, &grants(6, &outcomes), 10);
    memory.record(K);
    assert_nobody_is_blocked(&memory, &[K, Y]);
}

struct Once;
impl Guards for Once {
    const REREAD_CLOCK: bool = false;
}

#[test]
fn a_record_is_forgotten_before_a_stalled_claim() {
    holds(
        "stalled claim, forgotten record",
        3,
        forgotten_meanwhile::<Meant>,
    );
    is_violated(
        "control: the clock is not read again",
        3,
        "more than the bucket held",
        forgotten_meanwhile::<Once>,
    );
}

/// Stalls a claimant while another caller empties its claim. The key then gets a record in another
/// slot, and the table forgets that record. A new claim in the first slot must be a different word
/// than the stalled claim.
#[test]
fn a_claim_is_not_mistaken_for_a_later_one() {
    // Only the third preemption finds claims that are equal. It takes a minute, so it is part of
    // the exhaustive run. The claims themselves are compared in `every_claim_is_another_word`.
    holds("a stalled claim, another in its place", 2, || {
        let memory = Memory::running(&[live(Y, 10, at(1)), Word::EMPTY], START);
        let stalled = memory.caller(K);
        let stalled = spawn(move || stalled.take(6, 10));
        memory.until(at(1));
        let first = memory.caller(K).take(6, 10);
        memory.until(at(8));
        memory.caller(X).take(10, 10);
        let again = memory.caller(K).take(6, 10);
        let outcomes = [first, again, stalled.join().unwrap()];
        assert_bounded(Timestamp::ZERO, &grants(6, &outcomes), 10);
        memory.record(K);
    });
}

/// Runs two callers that share a bucket with a record. Their clock readings may come in either
/// order.
fn shared<G: Guards>() {
    let memory = Memory::running(&[live(K, 10, at(4)), Word::EMPTY], START);
    let other = memory.mortal::<G>(K, IMMORTAL);
    let other = spawn(move || {
        let early = other.take(3, 10);
        other.until(at(5));
        [early, other.take(3, 10)]
    });
    let here = memory.mortal::<G>(K, IMMORTAL);
    let here = [here.take(3, 10), here.take(3, 10)];
    let [early, late] = other.join().unwrap();
    let outcomes = [here[0], here[1], early, late];
    let of_key = grants(3, &outcomes);
    assert_bounded(START - 6, &of_key, 10);
    assert_explained(START - 6, 3, 10, &outcomes);
    // At the start, the bucket holds tokens worth six ticks, which is enough for two calls.
    assert!(of_key.len() >= 2, "{of_key:?}");
    // The bucket was never full, so `empty_at` moved by exactly the cost of the grants.
    let record = memory.record(K).expect("it was not full");
    assert_eq!(record.empty_at(), START - 6 + 3 * of_key.len() as u64);
}

struct RelaxedLoads;
impl Guards for RelaxedLoads {
    const ACQUIRE: bool = false;
}

struct RelaxedSwaps;
impl Guards for RelaxedSwaps {
    const RELEASE: bool = false;
}

#[test]
fn a_live_bucket_is_shared() {
    holds("two callers of a live bucket", 3, shared::<Meant>);
    let scenario = shared::<RelaxedLoads>;
    is_violated("control: loads are relaxed", 3, "a false denial", scenario);
    let scenario = shared::<RelaxedSwaps>;
    is_violated("control: swaps are relaxed", 3, "a false denial", scenario);
}

#[test]
fn a_record_is_not_reclaimed_a_tick_before_it_is_full() {
    holds("a record that is nearly full", 3, || {
        let memory = Memory::running(&[live(K, 10, at(6)), live(Y, 10, at(5))], START);
        let other = memory.caller(X);
        let other = spawn(move || {
            other.until(at(5));
            other.take(1, 10)
        });
        let caller = memory.caller(K);
        caller.until(at(5));
        let outcome = caller.take(10, 10);
        let other = other.join().unwrap();
        assert_bounded(START - 4, &grants(10, &[outcome]), 10);
        assert_eq!(grants(1, &[other]).len(), 1, "a slot was free");
        assert_nobody_is_blocked(&memory, &[K, X]);
    });
}

/// Checks that the record keeps the greater lifetime of the two quotas, even after a grant under
/// the quota with the smaller lifetime.
#[test]
fn two_capacities_share_one_key() {
    holds("two spans, one key", 3, || {
        let memory = Memory::running(&[Word::EMPTY, live(Y, 10, at(1000))], START);
        let small = memory.caller(K);
        let small = spawn(move || small.take(1, 2));
        let great = memory.caller(K).take(8, 10);
        memory.until(at(5));
        // This call takes the slot if its record is that of a full bucket. The new bucket is full a
        // tick later.
        memory.caller(X).take(1, 1);
        memory.until(at(6));
        let again = memory.caller(K).take(8, 10);
        let small = small.join().unwrap();
        assert_bounded(Timestamp::ZERO, &grants(1, &[small]), 2);
        let mut together = grants(8, &[great, again]);
        assert_bounded(Timestamp::ZERO, &together, 10);
        together.extend(grants(1, &[small]));
        assert_bounded(Timestamp::ZERO, &together, 10);
    });
}

#[test]
fn a_young_claim_is_left_alone_by_a_caller_with_an_old_instant() {
    // The stalled caller reads the clock 4.2 ms before the other caller's claim.
    const LATER: u64 = 1 << 22;
    holds("an old instant, a young claim", 3, || {
        let memory = Memory::running(&[Word::EMPTY], START);
        let stalled = memory.caller(K);
        let stalled = spawn(move || stalled.take(10, 10));
        let other = memory.caller(X);
        other.until(at(LATER));
        other.take(10, 10);
        stalled.join().unwrap();
        assert_eq!(memory.stolen(), 0, "nobody slept for 8 ms");
    });
}

/// Checks that the counter covers all tokens that evictions give away. An eviction gives away the
/// tokens that the evicted bucket lacked.
#[test]
fn what_evictions_give_away_is_counted() {
    holds("evictions", 3, || {
        let slots = [live(X, 10, at(9)), live(Y, 10, at(8))];
        let memory = Memory::evicting(&slots, START);
        let of_k = memory.caller(K);
        let of_k = spawn(move || [of_k.take(6, 10), of_k.take(6, 10)]);
        let of_z = grants(6, &[memory.caller(Z).take(6, 10)]);
        let of_x = grants(6, &[memory.caller(X).take(6, 10)]);
        let of_k = grants(6, &of_k.join().unwrap());
        let excess = excess(Timestamp::ZERO, of_k, 10)
            + excess(START - 1, of_x, 10)
            + excess(Timestamp::ZERO, of_z, 10);
        assert!(excess <= memory.evicted(), "{excess} uncounted");
        for key in [K, X, Z] {
            memory.record(key);
        }
    });
}
