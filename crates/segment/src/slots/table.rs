//! The table of slots. Each key may use the slots of two lines.
//!
//! Invariant: the two lines of a key are different, and they are the same in every process that
//! maps the segment.

use super::clients::Clients;
use super::counters::{Counters, Event, Shard, Totals};
use super::diagnostics::Diagnostics;
use super::namespaces::{Named, Namespaces, StoreKind};
use super::protocol::{AtomicWord, Production, Slots, Variant};
use super::word::{Fingerprint, Word};
use crate::memory::{Region, Segment};
use gcra::{KeyHasher, Row, Timestamp, boot_clock};
use portable_atomic::AtomicU128;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed};

pub const SLOTS_PER_LINE: usize = 4;

/// A line of slots, which is one cache line.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Line(pub [AtomicU128; SLOTS_PER_LINE]);

/// The store in shared memory. `V` is the variant of the protocol: [`Production`], except in tests
/// that break the protocol on purpose.
#[derive(Debug)]
pub struct SharedMemory<V: Variant = Production> {
    /// The table. It has at least two lines.
    pub(crate) lines: Region<Line>,
    pub(crate) counters: Counters,
    pub(crate) namespaces: Namespaces,
    /// One element for each namespace with a row of its own.
    pub(crate) clients: Region<Clients>,
    /// One element if the segment has diagnostics, otherwise no element.
    pub(crate) diagnostics: Region<Diagnostics>,
    pub(crate) hasher: KeyHasher,
    pub(crate) evict: bool,
    /// The ticks from a state of a window in a slot to the Unix time of that state.
    pub(crate) difference: i64,
    pub(crate) variant: PhantomData<V>,
}

/// The number of slots in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Buckets that are not full.
    pub live: usize,
    /// Full buckets. A new bucket may take their slots.
    pub reclaimable: usize,
    /// Claims that are not finished.
    pub pending: usize,
    /// Slots without a bucket or claim.
    pub empty: usize,
}

impl Usage {
    /// Counts the slots of a line, except empty ones. Returns how many it counted.
    fn count(&mut self, line: &Line, now: Timestamp) -> usize {
        let mut used = 0;
        for slot in &line.0 {
            let word = Word::from(slot.load(Relaxed));
            if word == Word::EMPTY {
                continue;
            }
            used += 1;
            if word.is_pending() {
                self.pending += 1;
            } else if word.is_reclaimable(now) {
                self.reclaimable += 1;
            } else {
                self.live += 1;
            }
        }
        used
    }
}

impl<V: Variant> SharedMemory<V> {
    /// Returns the hasher that makes keys of this store. It has no namespace.
    pub const fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Returns the eight slots of the key with this hash.
    ///
    /// 48 bits of the hash are the fingerprint, and 64 other bits choose the lines. Two keys share
    /// a bucket by mistake only if they have the same fingerprint and a common line.
    #[inline]
    // The cast drops higher bits on purpose.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn slots(&self, hash: u128) -> Neighbourhood<'_, V> {
        let lines: &[Line] = &self.lines;
        let [lower, upper] = two_lines(hash, lines.len());
        Neighbourhood {
            store: self,
            lines: [&lines[lower].0, &lines[upper].0],
            fingerprint: Fingerprint::new(hash as u64),
        }
    }

    #[inline]
    pub fn count(&self, event: Event) {
        self.counters.shard().1.count(event);
    }

    /// Counts an event that happened so many times.
    pub fn add(&self, event: Event, times: u64) {
        self.counters.shard().1.add(event, times);
    }

    /// Returns the events of all processes since the segment was created.
    pub fn totals(&self) -> Totals {
        Totals::of(&self.counters.shards)
    }

    /// Returns the row of a remote store's namespace. `names` lists the parts of its name.
    pub fn row(&self, kind: StoreKind, names: [&[u8]; 2]) -> Row {
        self.namespaces.row(self.hasher, kind, names)
    }

    /// Returns all rows that may have counted a decision.
    pub fn rows(&self) -> Vec<Named> {
        self.namespaces.list()
    }

    /// Returns the identifiers that are denied most, or `None` if the segment has no diagnostics.
    #[inline]
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        self.diagnostics.first()
    }

    /// Reports whether a bucket that is not full may be evicted when no other slot is available.
    pub const fn may_evict(&self) -> bool {
        self.evict
    }

    /// Returns the number of slots in each state. Reads the lines that were ever written, until
    /// these lines and the used slots in them add up to `most`. If there are more, estimates the
    /// numbers of the whole table. Hashes choose the lines of a key, so the first lines are a
    /// random sample.
    pub fn usage(&self, segment: &Segment, most: usize) -> Usage {
        let now = boot_clock();
        let mut usage = Usage::default();
        let mut left = most;
        let lines = self.lines.len();
        // The lines whose slots are known. Lines that were never written are empty.
        let mut known = lines;
        for line in segment.written(&self.lines).flatten() {
            if left == 0 {
                known = line;
                break;
            }
            let used = usage.count(&self.lines[line], now);
            left = left.saturating_sub(1 + used);
        }
        for slots in [&mut usage.live, &mut usage.reclaimable, &mut usage.pending] {
            *slots = (*slots * lines + known / 2) / known.max(1);
        }
        let used = usage.live + usage.reclaimable + usage.pending;
        usage.empty = (lines * SLOTS_PER_LINE).saturating_sub(used);
        usage
    }

    /// Returns the words of all slots. Tests use this to find keys with two records.
    pub fn words(&self) -> Vec<Word> {
        let slots = self.lines.iter().flat_map(|line| &line.0);
        slots.map(|slot| Word::from(slot.load(Acquire))).collect()
    }

    /// Moves all records back, as if `ticks` had passed.
    #[cfg(test)]
    pub fn pass(&self, ticks: gcra::Ticks) {
        for slot in self.lines.iter().flat_map(|line| &line.0) {
            let word = Word::from(slot.load(Acquire));
            let state = word.state.saturating_sub(ticks);
            slot.store(u128::from(Word { state, ..word }), Ordering::Release);
        }
    }
}

/// The eight slots of one key.
#[derive(Debug)]
pub struct Neighbourhood<'a, V: Variant> {
    store: &'a SharedMemory<V>,
    lines: [&'a [AtomicU128; SLOTS_PER_LINE]; 2],
    fingerprint: Fingerprint,
}

impl<V: Variant> Slots for Neighbourhood<'_, V> {
    type Variant = V;
    type Slot<'s>
        = &'s AtomicU128
    where
        Self: 's;

    #[inline]
    fn len(&self) -> usize {
        2 * SLOTS_PER_LINE
    }

    #[inline]
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    #[inline]
    fn slot(&self, index: usize) -> &AtomicU128 {
        &self.lines[index / SLOTS_PER_LINE][index % SLOTS_PER_LINE]
    }

    #[inline]
    fn shard(&self) -> (usize, &Shard) {
        self.store.counters.shard()
    }

    #[inline]
    fn now(&self) -> Timestamp {
        boot_clock()
    }

    fn may_evict(&self) -> bool {
        self.store.evict
    }

    fn fence(&self, order: Ordering) {
        portable_atomic::fence(order);
    }

    #[cold]
    fn pause(&self, tries: u32) {
        pause::<64>(tries);
    }
}

/// Returns the numbers of the two different lines of a hash. There are at least two lines.
#[inline(always)]
// The casts take parts of the hash. The number of a line is below the number of lines.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn two_lines(hash: u128, lines: usize) -> [usize; 2] {
    let choice = |bits: u32| ((u64::from(bits) * lines as u64) >> 32) as usize;
    let lower = choice((hash >> 64) as u32);
    let upper = choice((hash >> 96) as u32);
    let upper = if upper != lower {
        upper
    } else if lower == 0 {
        1
    } else {
        lower - 1
    };
    [lower, upper]
}

/// Waits after a lost race, longer after each one, up to some microseconds. Meanwhile the winner
/// keeps the line in its cache for several calls. Both processes then complete three times as many
/// calls. A process that has lost `MANY` races yields its processor.
pub(crate) fn pause<const MANY: u32>(tries: u32) {
    if tries % MANY == MANY - 1 {
        std::thread::yield_now();
    }
    for _ in 0..16u32 << tries.min(4) {
        std::hint::spin_loop();
    }
}

impl AtomicWord for &AtomicU128 {
    #[inline(always)]
    fn load(self, order: Ordering) -> Word {
        Word::from(AtomicU128::load(self, order))
    }

    #[inline(always)]
    fn swap(self, old: Word, new: Word, done: Ordering, failed: Ordering) -> bool {
        self.compare_exchange(old.into(), new.into(), done, failed)
            .is_ok()
    }
}

/// Reports whether the processor can swap 128 bits without a lock. If it cannot, processes cannot
/// share the memory.
pub fn is_lock_free() -> bool {
    AtomicU128::is_lock_free()
}

const _: () = assert!(size_of::<Line>() == 64);
