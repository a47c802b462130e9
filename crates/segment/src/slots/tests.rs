//! Tests the protocol on slots of one thread. A test may change the slots between a claim and its
//! validation, as another process would.

use super::changes;
use super::counters::{By, Event, Shard, Totals};
use super::protocol::{self, AtomicWord, Production, Slots};
use super::table::{Usage, is_lock_free};
use super::word::{Fingerprint, Lifetime, Word};
use crate::host::{Host, HostSettings, lines};
use crate::memory::{Layout, Segment, SegmentError};
use gcra::{
    Denial, EPOCH, Key, Outcome, Put, Refund, Row, Step, TICKS_PER_SECOND, Ticks, Timestamp,
    Verdict, boot_clock, empty_at,
};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;
use std::sync::atomic::Ordering::Relaxed;

const NOW: Timestamp = Timestamp(EPOCH.0 + (1 << 50));
const MINE: Fingerprint = Fingerprint::new(7);
const OTHER: Fingerprint = Fingerprint::new(9);
/// An age at which a claim counts as abandoned.
const ABANDONED: Ticks = 13_000_000;

/// The slots of one key.
struct Table {
    slots: [Cell<Word>; 8],
    shard: Shard,
    number: usize,
    now: Cell<Timestamp>,
    evict: bool,
    /// The number of swaps that fail because another process was faster.
    losses: Cell<u32>,
    /// Runs once, between a claim and its validation.
    claimed: RefCell<Option<Change>>,
}

/// A change of the slots by another process.
type Change = Box<dyn Fn(&Table)>;

struct Slot<'s>(&'s Table, usize);

impl AtomicWord for Slot<'_> {
    fn load(self, _: Ordering) -> Word {
        self.0.slots[self.1].get()
    }

    fn swap(self, old: Word, new: Word, _: Ordering, _: Ordering) -> bool {
        if self.0.losses.get() > 0 {
            self.0.losses.set(self.0.losses.get() - 1);
            return false;
        }
        let cell = &self.0.slots[self.1];
        let is_same = cell.get() == old;
        if is_same {
            cell.set(new);
        }
        is_same
    }
}

impl Slots for Table {
    type Variant = Production;
    type Slot<'s> = Slot<'s>;

    fn len(&self) -> usize {
        self.slots.len()
    }

    fn fingerprint(&self) -> Fingerprint {
        MINE
    }

    fn slot(&self, index: usize) -> Slot<'_> {
        Slot(self, index)
    }

    fn shard(&self) -> (usize, &Shard) {
        (self.number, &self.shard)
    }

    fn now(&self) -> Timestamp {
        self.now.get()
    }

    fn may_evict(&self) -> bool {
        self.evict
    }

    fn fence(&self, _: Ordering) {
        if let Some(claimed) = self.claimed.take() {
            claimed(self);
        }
    }

    fn pause(&self, _: u32) {}
}

impl Table {
    /// Returns slots that each hold a half-full record of the key `OTHER`. The slots in `words`
    /// hold these words instead.
    fn new(words: &[(usize, Word)]) -> Self {
        let slots: [_; 8] = std::array::from_fn(|_| Cell::new(live(OTHER, NOW - 50)));
        for &(index, word) in words {
            slots[index].set(word);
        }
        Self {
            slots,
            shard: Shard::default(),
            number: 0,
            now: Cell::new(NOW),
            evict: false,
            losses: Cell::new(0),
            claimed: RefCell::default(),
        }
    }

    fn after_claim(self, change: impl Fn(&Self) + 'static) -> Self {
        self.claimed.replace(Some(Box::new(change)));
        self
    }

    fn take(&self, cost: Ticks) -> Outcome {
        protocol::take(self, &Step::new(cost, 100), None)
    }

    /// Returns the indexes of the slots that hold the key's record, and its state.
    fn records(&self) -> Vec<(usize, Timestamp)> {
        let words = self.slots.iter().map(Cell::get).enumerate();
        words
            .filter(|(_, word)| word.is_of(MINE) && !word.is_pending())
            .map(|(index, word)| (index, word.empty_at()))
            .collect()
    }

    /// Returns the events that were counted, and how often each one was.
    fn events(&self) -> Vec<(Event, u64)> {
        let totals = Totals::of(std::slice::from_ref(&self.shard));
        let events = [
            Event::Inserted,
            Event::Reclaimed,
            Event::Adopted,
            Event::Duplicate,
            Event::Stolen,
            Event::Conflict,
            Event::Refused,
            Event::Evicted,
        ];
        let counts = events.map(|event| (event, totals.get(event)));
        counts.into_iter().filter(|count| count.1 > 0).collect()
    }
}

fn live(key: Fingerprint, empty_at: Timestamp) -> Word {
    Word::live(key, Lifetime::covering(100), empty_at)
}

/// Returns a claim that is `age` ticks old.
fn claim(key: Fingerprint, age: Ticks) -> Word {
    Word::pending(key, 5, NOW - age)
}

fn full() -> Word {
    live(OTHER, NOW - 100)
}

#[test]
fn a_new_bucket_takes_the_first_free_slot_of_the_line_with_more() {
    let free = Word::EMPTY;
    for (words, index) in [
        (vec![(2, free)], 2),
        (vec![(5, free)], 5),
        (vec![(2, free), (5, free)], 2),
        (vec![(2, full()), (5, free), (6, full())], 5),
        (vec![(1, free), (3, full()), (4, free), (7, free)], 1),
        (vec![(1, free), (3, free), (4, free)], 1),
    ] {
        let table = Table::new(&words);
        assert!(table.take(60).granted());
        assert_eq!(table.records(), [(index, NOW - 40)], "{words:?}");
    }
}

#[test]
fn each_kind_of_claim_is_counted() {
    let free = (3, Word::EMPTY);
    let inserted = (Event::Inserted, 1);
    for (words, index, events) in [
        (vec![free], 3, vec![inserted]),
        (vec![(3, full())], 3, vec![inserted, (Event::Reclaimed, 1)]),
        (
            vec![free, (5, claim(MINE, 0))],
            5,
            vec![inserted, (Event::Adopted, 1)],
        ),
        (
            vec![(5, claim(OTHER, ABANDONED)), (6, claim(OTHER, ABANDONED))],
            5,
            vec![inserted, (Event::Stolen, 1)],
        ),
    ] {
        let table = Table::new(&words);
        assert!(table.take(60).granted());
        assert_eq!(table.records(), [(index, NOW - 40)], "{words:?}");
        assert_eq!(table.events(), events);
    }
}

#[test]
fn only_a_table_that_may_evict_gives_away_the_tokens_of_others() {
    let lacks_least = (6, live(OTHER, NOW - 90));
    let words = [lacks_least, (2, claim(OTHER, 8_000_000))];
    let table = Table::new(&words);
    let expected = Outcome::denied(Denial::TableFull, Timestamp::ZERO, NOW);
    assert_eq!(table.take(60), expected);
    assert_eq!((table.records(), table.events()), (vec![], vec![]));
    let table = Table {
        evict: true,
        ..Table::new(&words)
    };
    assert!(table.take(60).granted());
    assert_eq!(table.records(), [(6, NOW - 40)]);
    assert_eq!(table.events(), [(Event::Inserted, 1), (Event::Evicted, 1)]);
    let totals = Totals::of(std::slice::from_ref(&table.shard));
    assert_eq!((totals.evicted_ticks, totals.evicted_ticks_max), (10, 10));
}

#[test]
fn an_eviction_compares_shares_then_ticks_then_slots() {
    // Each other bucket lacks 50 of 100 ticks.
    for (slot, lifetime, lacks, evicted) in [
        (2, 100, 50, 0),
        (2, 1000, 400, 2),
        (2, 1000, 500, 0),
        (2, 60, 30, 2),
    ] {
        let word = Word::live(OTHER, Lifetime::covering(lifetime), NOW + lacks - lifetime);
        let table = Table {
            evict: true,
            ..Table::new(&[(slot, word)])
        };
        assert!(table.take(60).granted());
        assert_eq!(
            table.records(),
            [(evicted, NOW - 40)],
            "{lacks} of {lifetime}"
        );
    }
}

#[test]
fn a_claim_gives_way_to_a_record_of_its_key() {
    for slot in [1, 5] {
        let table = Table::new(&[(3, Word::EMPTY)])
            .after_claim(move |table| table.slots[slot].set(live(MINE, NOW - 50)));
        assert!(table.take(20).granted());
        assert_eq!(table.records(), [(slot, NOW - 30)]);
        assert_eq!(table.slots[3].get(), Word::EMPTY);
        let events = [(Event::Duplicate, 1), (Event::Conflict, 1)];
        assert_eq!(table.events(), events);
    }
}

#[test]
fn of_two_claims_of_one_key_the_lower_slot_wins() {
    for (other, winner, conflicts) in [(1, 1, 1), (5, 3, 0)] {
        let table = Table::new(&[(3, Word::EMPTY)])
            .after_claim(move |table| table.slots[other].set(claim(MINE, 0)));
        assert!(table.take(60).granted());
        assert_eq!(table.records(), [(winner, NOW - 40)]);
        assert_eq!(table.slots[other.max(3)].get(), Word::EMPTY);
        let totals = Totals::of(std::slice::from_ref(&table.shard));
        let count = |event| totals.get(event);
        assert_eq!(count(Event::Duplicate), 1);
        assert_eq!(
            count(Event::Conflict),
            conflicts,
            "a claim is emptied at once"
        );
    }
}

#[test]
fn a_new_bucket_is_charged_at_a_clock_reading_after_its_claim() {
    let table = Table::new(&[(3, Word::EMPTY)]).after_claim(|table| table.now.set(NOW + 9));
    assert_eq!(table.take(60).now, NOW + 9);
    assert_eq!(table.records(), [(3, NOW + 9 - 40)]);
}

/// A stalled caller must not mistake a later claim on its slot for its own claim.
#[test]
fn every_claim_is_another_word() {
    let mut claims: Vec<Word> = Vec::new();
    for number in [0, 1, 63] {
        let table = Table {
            number,
            ..Table::new(&[])
        };
        for _ in 0..300 {
            table.slots[3].set(Word::EMPTY);
            let (sender, receiver) = std::sync::mpsc::channel();
            table.claimed.replace(Some(Box::new(move |table: &Table| {
                sender.send(table.slots[3].get()).expect("it is received");
            })));
            assert!(table.take(60).granted());
            let claim = receiver.try_recv().expect("it was claimed");
            assert!(claim.is_pending() && claim.is_of(MINE));
            assert!(!claims.contains(&claim), "{number}");
            claims.push(claim);
        }
    }
}

#[test]
fn a_step_that_takes_nothing_needs_no_slot() {
    let nothing = |step: &Step, first| {
        let table = Table::new(&[(3, Word::EMPTY)]);
        let outcome = protocol::take(&table, step, first);
        assert!(table.slots[3].get() == Word::EMPTY && outcome.empty_at == Timestamp::ZERO);
        outcome.verdict
    };
    let step = |cost| Step::new(cost, 100);
    assert_eq!(nothing(&step(100).dry(), None), Verdict::Granted);
    assert_eq!(nothing(&step(100).dry(), Some(NOW)), Verdict::Granted);
    assert_eq!(nothing(&step(0), None), Verdict::Granted);
    let exceeds = Verdict::Denied(Denial::ExceedsCapacity);
    assert_eq!(nothing(&step(101), None), exceeds);
    assert_eq!(nothing(&step(101), Some(NOW)), exceeds);
    let table = Table::new(&[(3, Word::EMPTY)]);
    assert!(protocol::take(&table, &step(0), Some(NOW - 5)).granted());
    assert_eq!(table.records(), [(3, NOW - 5)], "it was proposed");
}

const fn refund(cost: Ticks, span: Ticks) -> Refund {
    Refund {
        cost,
        span,
        taken: Put::VOUCHED,
        in_debt: cost,
    }
}

#[test]
fn lost_races_are_counted_and_denied_in_the_end() {
    let table = Table::new(&[(3, live(MINE, NOW - 50))]);
    table.losses.set(2);
    assert!(table.take(20).granted());
    assert_eq!(table.records(), [(3, NOW - 30)]);
    changes::refund(&table, &refund(20, 100));
    table.losses.set(3);
    changes::refund(&table, &refund(10, 100));
    assert_eq!(table.records(), [(3, NOW - 60)]);
    assert_eq!(table.events(), [(Event::Conflict, 5)]);
    table.losses.set(u32::MAX);
    let expected = Outcome::denied(Denial::Contended, NOW - 60, NOW);
    assert_eq!(table.take(20), expected);
    table.losses.set(0);
    changes::reset(&table);
    assert_eq!(table.slots[3].get(), Word::EMPTY);
}

#[test]
fn a_created_record_replaces_no_other() {
    let table = Table::new(&[(3, Word::EMPTY)]);
    assert!(!protocol::contains(&table));
    changes::bootstrap(&table, Lifetime::UNKNOWN, 50);
    assert_eq!(table.records(), [(3, NOW - 50)]);
    assert!(protocol::contains(&table));
    changes::bootstrap(&table, Lifetime::UNKNOWN, 10);
    assert_eq!(table.records(), [(3, NOW - 50)]);
    assert_eq!(table.events(), [(Event::Inserted, 1)]);
    table.slots[3].set(live(MINE, NOW - 100));
    assert!(!protocol::contains(&table), "it is full");
    let table = Table::new(&[]);
    changes::bootstrap(&table, Lifetime::UNKNOWN, 50);
    assert_eq!(table.events(), [(Event::Refused, 1)]);
}

#[test]
fn a_raised_record_is_created_or_moves_forward() {
    let table = Table::new(&[(3, Word::EMPTY)]);
    changes::raise(&table, Lifetime::UNKNOWN, |_| NOW + 50);
    assert_eq!(table.records(), [(3, NOW + 50)]);
    changes::raise(&table, Lifetime::UNKNOWN, |_| NOW + 40);
    assert_eq!(table.records(), [(3, NOW + 50)], "never back");
    // The change is tried again after each lost race.
    table.losses.set(2000);
    changes::raise(&table, Lifetime::UNKNOWN, |_| NOW + 60);
    assert_eq!(table.records(), [(3, NOW + 60)]);
    let expected = [(Event::Inserted, 1), (Event::Conflict, 2000)];
    assert_eq!(table.events(), expected);
    // A full record is moved, too. Its new lifetime covers that of any quota.
    table.slots[3].set(live(MINE, NOW - 100));
    changes::raise(&table, Lifetime::UNKNOWN, |_| NOW);
    table.now.set(NOW + 86_399 * TICKS_PER_SECOND);
    assert!(protocol::contains(&table));
    let table = Table::new(&[(3, live(MINE, NOW))]);
    let later = changes::raise(&table, Lifetime::covering(100), |now| now + 50);
    let earlier = changes::raise(&table, Lifetime::covering(100), |now| now + 40);
    assert_eq!((later, later.granted()), (earlier, true));
    assert_eq!((later.empty_at, later.now), (NOW + 50, NOW));
    table.now.set(NOW + 150);
    assert!(
        !protocol::contains(&table),
        "its lifetime is that of its quota"
    );
    let table = Table::new(&[]);
    let refused = changes::raise(&table, Lifetime::UNKNOWN, |_| NOW + 50);
    assert_eq!(refused.verdict, Verdict::Denied(Denial::TableFull));
    assert_eq!(table.events(), [(Event::Refused, 1)]);
}

#[test]
fn an_update_needs_a_slot_only_for_a_new_state() {
    let update = |table: &Table, state: Timestamp| {
        changes::update(table, Lifetime::covering(100), |_, now| {
            Outcome::denied(Denial::LockedOut, state, now)
        })
    };
    let table = Table::new(&[]);
    assert_eq!(update(&table, Timestamp::ZERO).empty_at, Timestamp::ZERO);
    assert_eq!(table.events(), []);
    let refused = update(&table, NOW + 5);
    assert_eq!(refused.verdict, Verdict::Denied(Denial::TableFull));
    let table = Table::new(&[(3, live(MINE, NOW - 50))]);
    table.losses.set(3);
    assert_eq!(update(&table, NOW + 5).empty_at, NOW + 5);
    assert_eq!(table.records(), [(3, NOW + 5)]);
    assert_eq!(table.events(), [(Event::Conflict, 3)]);
}

#[test]
fn a_shard_counts_the_last_event_and_the_last_kind_of_decision() {
    let shard = Shard::default();
    shard.count(Event::Thrown);
    shard.count_decision(Row(3), By::Policy, false);
    let totals = Totals::of(std::slice::from_ref(&shard));
    assert_eq!(totals.get(Event::Thrown), 1);
    assert_eq!(totals.decisions(Row(3), By::Policy), [0, 1]);
}

#[test]
fn a_created_record_is_kept_for_its_span() {
    let table = Table::new(&[(3, Word::EMPTY)]);
    let day = 86_400 * TICKS_PER_SECOND;
    changes::bootstrap(&table, Lifetime::covering(30 * day), 0);
    table.now.set(NOW + 30 * day - 1);
    assert!(protocol::contains(&table));
    table.now.set(NOW + 31 * day);
    assert!(!protocol::contains(&table));
    // A full record counts as absent, so another one can be created.
    changes::bootstrap(&table, Lifetime::covering(day), 0);
    assert!(protocol::contains(&table));
}

/// Returns a host with 1024 lines.
fn host(make: impl FnOnce(Layout) -> Result<Segment, SegmentError>, evict: bool) -> Host {
    let settings = HostSettings {
        lines: lines(1 << 16),
        diagnostics: false,
        evict,
    };
    Host::new(settings, make).expect("memory")
}

#[test]
fn a_key_may_use_the_slots_of_two_lines() {
    for (bits, mut expected) in [
        (0, [0, 1]),
        (u64::MAX, [1023, 1022]),
        (1 << 63, [0, 512]),
        (1 << 31, [512, 0]),
        (0x4000_0000_4000_0000, [256, 255]),
    ] {
        let host = host(Segment::private, false);
        let take = |number: u128| {
            let hash = u128::from(bits) << 64 | number;
            let key = Key {
                identifier: b"",
                hash,
                row: Row::default(),
            };
            let outcome = host.slots().take(key, &Step::new(1 << 40, 1 << 50), None);
            outcome.verdict
        };
        assert!((1..=8).all(|number| take(number) == Verdict::Granted));
        assert_eq!(take(9), Verdict::Denied(Denial::TableFull));
        let words = host.slots().words();
        assert_eq!(words.len(), 4096);
        let lines = words.chunks(4).enumerate();
        let used: Vec<_> = lines
            .filter(|(_, line)| line.iter().all(|&word| word != Word::EMPTY))
            .map(|(number, _)| number)
            .collect();
        expected.sort_unstable();
        assert_eq!(used, expected, "{bits:x}");
        let totals = host.slots().totals();
        assert_eq!(totals.all_decisions(By::SharedMemory), [8, 1]);
        assert_eq!(totals.get(Event::Inserted), 8);
    }
}

#[test]
fn usage_counts_the_slots_in_each_state() {
    for make in [Segment::private, Segment::memfd] {
        let host = host(make, false);
        let now = boot_clock();
        let (drained, full) = (live(OTHER, now + (1 << 40)), live(OTHER, now - 200));
        for (line, slot, word) in [
            (0, 0, drained),
            (0, 1, full),
            (0, 2, Word::pending(OTHER, 1, now)),
            (0, 3, Word::pending(OTHER, 2, now)),
            (700, 2, drained),
            (700, 3, drained),
        ] {
            host.slots().lines[line].0[slot].store(word.into(), Relaxed);
        }
        let expected = Usage {
            live: 3,
            reclaimable: 1,
            pending: 2,
            empty: 4090,
        };
        assert_eq!(host.usage(), expected);
    }
}

#[test]
fn usage_of_a_part_of_the_table_is_scaled_to_the_whole() {
    for make in [Segment::private, Segment::memfd] {
        let host = host(make, false);
        let now = boot_clock();
        let (drained, full) = (live(OTHER, now + (1 << 40)), live(OTHER, now - 200));
        let lines = &host.slots().lines;
        for line in lines.iter() {
            line.0[0].store(drained.into(), Relaxed);
            line.0[1].store(full.into(), Relaxed);
        }
        for line in &lines[..3] {
            line.0[2].store(full.into(), Relaxed);
        }
        lines[0].0[3].store(Word::pending(OTHER, 1, now).into(), Relaxed);
        // A line counts as one, plus its used slots: 5 for line 0, 4 each for the next two, and 3
        // each for 97 others. That is 304 in all. These 100 lines have 100 live, 103 reclaimable
        // and 1 pending slots. The table has 1,024 lines.
        let expected = Usage {
            live: 1024,
            reclaimable: 1055,
            pending: 10,
            empty: 4096 - 1024 - 1055 - 10,
        };
        assert_eq!(host.estimated_usage(304), expected);
    }
}

#[test]
fn a_table_says_whether_it_evicts() {
    assert!(host(Segment::private, true).slots().may_evict());
    assert!(!host(Segment::private, false).slots().may_evict());
    assert!(is_lock_free(), "other tests need the same");
}

#[test]
fn a_denial_because_of_contention_is_counted() {
    let host = host(Segment::private, false);
    let slots = host.slots();
    slots.explain(slots.hasher().key(b"a"), Denial::Contended);
    let totals = slots.totals();
    assert_eq!(totals.get(Event::Contended), 1);
    assert_eq!(totals.get(Event::Refused), 0);
}

/// Returns a host that notes the identifiers of denials.
fn tracking() -> Host {
    let settings = HostSettings {
        lines: lines(1 << 16),
        diagnostics: true,
        evict: false,
    };
    Host::new(settings, Segment::private).expect("memory")
}

#[test]
fn identifiers_compete_for_the_entries_of_a_set() {
    let host = tracking();
    let diagnostics = host.slots().diagnostics().expect("enabled");
    // The hashes have the same remainder, so they select the same set of 16 entries.
    let deny = |number: u8| {
        diagnostics.denied(
            0,
            Key {
                identifier: &[number],
                hash: 1 + 4 * u128::from(number),
                row: Row(3),
            },
        );
    };
    let counts = || -> Vec<_> {
        let most_denied = diagnostics.most_denied(99);
        let counts = most_denied.into_iter();
        counts
            .map(|it| (it.identifier[0], it.row, it.denied))
            .collect()
    };
    (0..16).for_each(deny);
    let once = (0..16).map(|number| (number, Row(3), 1));
    assert_eq!(counts(), once.collect::<Vec<_>>());
    deny(5);
    deny(16);
    assert_eq!(
        counts(),
        [(5, Row(3), 1)],
        "a 17th lowers the others and gets no entry"
    );
    deny(16);
    assert_eq!(counts(), [(5, Row(3), 1), (16, Row(3), 1)]);
}

#[test]
fn decisions_of_other_stores_are_counted_and_denials_are_noted() {
    let host = tracking();
    let slots = host.slots();
    let key = slots.hasher().key(b"a");
    slots.count_for(key, By::Store, true);
    slots.count_for(key, By::Store, false);
    slots.count_for(key, By::Store, false);
    assert_eq!(slots.totals().decisions(key.row, By::Store), [1, 2]);
    let noted = slots.diagnostics().expect("enabled").most_denied(9);
    let noted: Vec<_> = noted.iter().map(|one| one.denied).collect();
    assert_eq!(noted, [2]);
}

#[test]
fn slots_decide_like_the_memory_store_while_the_limit_changes() {
    // A lifetime represents these spans exactly.
    const SPANS: [Ticks; 3] = [128, 1024, 32_768];
    let (table, memory) = (Table::new(&[]), gcra::MemoryStore::default());
    let key = gcra::KeyHasher::new([1, 2]).key(b"customer");
    let mut random: u64 = 1;
    let mut below = |end: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % end
    };
    let mut granted = [0; 2];
    for call in 0..20_000 {
        let gap = match below(4) {
            0 => 0,
            1 => 40,
            2 => 1500,
            _ => 50_000,
        };
        memory.advance(below(gap + 1));
        table
            .now
            .set(NOW + (memory.now() - gcra::memory_store::START));
        let span = match below(3) {
            0 => SPANS[0],
            1 => SPANS[1],
            _ => SPANS[2],
        };
        let step = Step::new(span * (below(5)) / 4, span);
        if below(8) == 0 {
            memory.put(key, &Put::refund(step.cost, span));
            changes::refund(&table, &refund(step.cost, span));
        }
        if below(8) == 0 {
            let age = step.cost.cast_signed() - 100;
            memory.put(key, &Put::Raise { age, span });
            changes::raise(&table, Lifetime::covering(span), |now| empty_at(now, age));
        }
        let expected = memory.take(key, &step, None).granted();
        let outcome = if below(2) == 0 {
            protocol::take(&table, &step, None)
        } else {
            protocol::take_found(&table, &step).0
        };
        assert_eq!(outcome.granted(), expected, "call {call}: {step:?}");
        granted[usize::from(expected)] += 1;
    }
    assert!(granted[0] > 1000 && granted[1] > 1000, "{granted:?}");
}

#[test]
fn undoing_a_step_on_a_full_record_restores_that_record() {
    let full = Word::live(MINE, Lifetime::covering(128), NOW - 500);
    let table = Table::new(&[(2, full)]);
    let step = Step::new(1024, 1024);
    let (outcome, found) = protocol::take_found(&table, &step);
    assert!(outcome.granted());
    changes::undo(&table, &step, &outcome, found.map(|(_, word)| word), None);
    assert_eq!(table.slots[2].get(), full);
}
