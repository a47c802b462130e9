//! If a full table may evict, it evicts the bucket that lacks the smallest share of its lifetime.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use gcra::clock::EPOCH;
use gcra::{Step, TICKS_PER_SECOND, Ticks, Timestamp};
use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use segment::slots::counters::{Event, Shard, Totals};
use segment::slots::protocol::{self, AtomicWord, Production, Slots};
use segment::slots::word::{Fingerprint, Lifetime, Word};
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// An exact fraction.
type Exact = BigRational;

/// Returns a whole number as a fraction.
fn whole(number: impl Into<BigInt>) -> Exact {
    Exact::from_integer(number.into())
}

const NOW: Timestamp = Timestamp(EPOCH.0 + 1_000_000 * TICKS_PER_SECOND);
const DAY: Ticks = 86_400 * TICKS_PER_SECOND;
const NEW: Fingerprint = Fingerprint::new(1000);

/// The slots of one key in a table that may evict, with one caller and a clock that stands still.
struct Table {
    slots: Vec<Cell<Word>>,
    shard: Shard,
}

struct Slot<'s>(&'s Cell<Word>);

impl AtomicWord for Slot<'_> {
    fn load(self, _: Ordering) -> Word {
        self.0.get()
    }

    fn swap(self, old: Word, new: Word, _: Ordering, _: Ordering) -> bool {
        let same = self.0.get() == old;
        if same {
            self.0.set(new);
        }
        same
    }
}

impl Slots for Table {
    type Variant = Production;
    type Slot<'s> = Slot<'s>;

    fn len(&self) -> usize {
        self.slots.len()
    }

    fn fingerprint(&self) -> Fingerprint {
        NEW
    }

    fn slot(&self, index: usize) -> Slot<'_> {
        Slot(&self.slots[index])
    }

    fn shard(&self) -> (usize, &Shard) {
        (0, &self.shard)
    }

    fn now(&self) -> Timestamp {
        NOW
    }

    fn may_evict(&self) -> bool {
        true
    }

    fn fence(&self, _: Ordering) {}

    fn pause(&self, _: u32) {}
}

/// Takes from a new bucket. Returns the slot of the new bucket, and the ticks that the evicted
/// bucket lacked, or `None` if no bucket was evicted.
fn evict(slots: &[Word]) -> (usize, Option<Ticks>) {
    let table = Table {
        slots: slots.iter().copied().map(Cell::new).collect(),
        shard: Shard::default(),
    };
    let outcome = protocol::take(&table, &Step::new(TICKS_PER_SECOND, DAY), None);
    assert!(outcome.granted());
    let after = table.slots.iter();
    let index = after.into_iter().position(|slot| slot.get().is_of(NEW));
    let totals = Totals::of(std::slice::from_ref(&table.shard));
    let missing = (totals.get(Event::Evicted) > 0).then_some(totals.evicted_ticks);
    (index.unwrap(), missing)
}

/// Returns the bucket `number`, which lacks `missing` ticks of its `lifetime`.
fn lacking(number: u64, missing: Ticks, lifetime: Ticks) -> Word {
    let code = Lifetime::covering(lifetime);
    Word::live(Fingerprint::new(number), code, NOW + missing - code.ticks())
}

#[test]
fn a_used_up_quota_near_its_end_outlives_buckets_that_hold_most_of_their_tokens() {
    let minute = 60 * TICKS_PER_SECOND;
    for kind in [Lifetime::of_window(0, DAY), Lifetime::covering(DAY).held()] {
        let state = NOW + minute - kind.ticks();
        let held = Word::live(Fingerprint::new(99), kind, state);
        for slot in 0..8 {
            let mut slots: Vec<_> = (1..=8)
                .map(|n| lacking(n, minute / 5 + n, minute))
                .collect();
            slots[slot] = held;
            let (victim, missing) = evict(&slots);
            assert_eq!(victim, usize::from(slot == 0));
            assert_eq!(missing, Some(minute / 5 + victim as u64 + 1));
        }
        // Among windows that end at the same time, the one with more tokens used stays.
        let slots: Vec<_> = (1..=8)
            .map(|n| Word::live(Fingerprint::new(n), kind, state + 200_000 - n))
            .collect();
        assert_eq!(evict(&slots), (7, Some(kind.ticks())));
    }
}

/// Yields records of other keys. Some of them have a state or lifetime that no step writes.
fn words() -> impl Strategy<Value = Word> {
    let tag = any::<u64>().prop_filter("another key", |tag| tag >> 16 > 1000);
    prop_oneof![
        3 => (1001..1u64 << 48, 1..=DAY, 0..2 * DAY)
            .prop_map(|(number, lifetime, missing)| lacking(number, missing, lifetime)),
        1 => (tag, 0..1u64 << 63).prop_map(|(tag, state)| Word { tag, state }),
    ]
}

/// Returns whether the missing share is infinite, the share as an exact fraction, and the ticks
/// until the record is full.
fn lack(word: Word) -> (bool, Exact, Ticks) {
    let left = word.full_at().saturating_since(NOW);
    let lifetime = Word { state: 0, ..word }.full_at().0;
    match lifetime {
        0 => (true, whole(0), left),
        _ => (false, whole(word.missing(NOW)) / whole(lifetime), left),
    }
}

proptest! {
    // The seed is fixed, so that failures are reproducible.
    #![proptest_config(Config { failure_persistence: None, cases: 2000, rng_seed: RngSeed::Fixed(0x70_6b65_6e62_7563), ..Config::default() })]

    #[test]
    fn the_victim_lacks_the_smallest_share(slots in prop::collection::vec(words(), 8)) {
        let (victim, missing) = evict(&slots);
        // The slot of a full bucket is taken first. The number of free slots in each line decides
        // which of these slots is taken.
        if slots.iter().any(|word| word.is_reclaimable(NOW)) {
            prop_assert!(slots[victim].is_reclaimable(NOW) && missing.is_none());
            return Ok(());
        }
        let first = (0..8).min_by_key(|&index| lack(slots[index])).unwrap();
        prop_assert_eq!(victim, first);
        prop_assert_eq!(missing, Some(slots[first].missing(NOW)));
    }
}
