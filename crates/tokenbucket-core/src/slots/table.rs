//! The slots of a segment, and the two lines of each key.
//!
//! Invariant: a key's two lines are different, and the same in every process that maps the segment.

use super::counters::{self, Event, Shard, Totals};
use super::diagnostics::Diagnostics;
use super::protocol::{Point, Slots};
use super::word::{Fingerprint, Word};
use crate::clock::{BootClock, Clock, Ticks};
use crate::host::{Header, Line, SLOTS_PER_LINE};
use crate::memory::Segment;
use portable_atomic::AtomicU128;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};

/// How the protocol runs: as in [`Production`], or broken on purpose, or killed at a marked step.
pub trait Variant {
    /// See [`Slots::VALIDATE`].
    const VALIDATE: bool = true;
    /// See [`Slots::REREAD_CLOCK`].
    const REREAD_CLOCK: bool = true;
    /// See [`Slots::reached`].
    #[inline]
    fn reached(_: Point) {}
}

/// The protocol as it is meant.
#[derive(Clone, Copy, Debug)]
pub struct Production;

impl Variant for Production {
    #[cfg(feature = "deaths")]
    fn reached(point: Point) {
        super::deaths::reached(point);
    }
}

/// The slots of a segment.
#[derive(Debug)]
pub struct SlotTable<V: Variant> {
    segment: Segment,
    secret: [u64; 2],
    variant: PhantomData<V>,
}

/// How many slots are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Buckets that are not full.
    pub live: usize,
    /// Full buckets, free to take.
    pub reclaimable: usize,
    /// Claims.
    pub pending: usize,
    /// Nothing.
    pub empty: usize,
}

impl<V: Variant> SlotTable<V> {
    pub(super) fn new(segment: Segment) -> Self {
        let secret = [0, 1].map(|half: usize| segment.header().secret[half].load(Relaxed));
        Self {
            segment,
            secret,
            variant: PhantomData,
        }
    }

    pub(super) fn into_segment(self) -> Segment {
        self.segment
    }

    /// The memory underneath.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    pub(super) const fn secret(&self) -> [u64; 2] {
        self.secret
    }

    /// The eight slots of the key with this hash.
    ///
    /// 48 bits of the hash are the fingerprint, 64 others choose the lines: a false match needs both.
    #[inline]
    // Each cast takes the bits it names.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn slots(&self, hash: u128) -> Neighbourhood<'_, V> {
        let lines = self.segment.lines();
        let choice = |bits: u32| ((u64::from(bits) * lines.len() as u64) >> 32) as usize;
        let lower = choice((hash >> 64) as u32);
        let upper = choice((hash >> 96) as u32);
        // There are at least two lines, so the neighbour is another.
        let upper = if upper != lower {
            upper
        } else if lower == 0 {
            1
        } else {
            lower - 1
        };
        Neighbourhood {
            table: self,
            lines: [&lines[lower].0, &lines[upper].0],
            fingerprint: Fingerprint::new(hash as u64),
        }
    }

    #[inline]
    pub(super) fn shard(&self) -> usize {
        counters::shard(self.segment.shards())
    }

    #[inline]
    fn counters(&self) -> &Shard {
        &self.segment.shards()[self.shard()]
    }

    #[inline]
    pub(super) fn count(&self, event: Event) {
        self.counters().count(event);
    }

    /// What happened since the segment was made, in all processes.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals::of(self.segment.shards())
    }

    /// Identifiers, if they are kept.
    #[inline]
    #[must_use]
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        self.segment.diagnostics()
    }

    /// Counts slots by state: a look at every one that was ever written, for status only.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let now = BootClock.now();
        let lines = self.segment.lines();
        let mut usage = Usage::default();
        let mut seen = 0;
        let written = self.segment.written_lines();
        for slot in written
            .into_iter()
            .flat_map(|run| &lines[run])
            .flat_map(|line| &line.0)
        {
            let word = Word::from(slot.load(Relaxed));
            seen += 1;
            if word == Word::EMPTY {
                usage.empty += 1;
            } else if word.is_pending() {
                usage.pending += 1;
            } else if word.is_reclaimable(now) {
                usage.reclaimable += 1;
            } else {
                usage.live += 1;
            }
        }
        usage.empty += lines.len() * SLOTS_PER_LINE - seen;
        usage
    }

    /// Every word, for tests that look for a key that lives twice.
    #[must_use]
    pub fn words(&self) -> Vec<Word> {
        let slots = self.segment.lines().iter().flat_map(|line| &line.0);
        slots.map(|slot| Word::from(slot.load(Acquire))).collect()
    }
}

/// The eight slots of one key.
#[derive(Debug)]
pub struct Neighbourhood<'a, V: Variant> {
    table: &'a SlotTable<V>,
    lines: [&'a [AtomicU128; SLOTS_PER_LINE]; 2],
    fingerprint: Fingerprint,
}

impl<V: Variant> Neighbourhood<'_, V> {
    #[inline]
    fn slot(&self, index: usize) -> &AtomicU128 {
        &self.lines[index / SLOTS_PER_LINE][index % SLOTS_PER_LINE]
    }
}

impl<V: Variant> Slots for Neighbourhood<'_, V> {
    const VALIDATE: bool = V::VALIDATE;
    const REREAD_CLOCK: bool = V::REREAD_CLOCK;

    #[inline]
    fn len(&self) -> usize {
        2 * SLOTS_PER_LINE
    }

    #[inline]
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    #[inline]
    fn load(&self, index: usize) -> Word {
        // Acquire: the clock must not be read before the slot.
        Word::from(self.slot(index).load(Acquire))
    }

    #[inline]
    fn swap(&self, index: usize, old: Word, new: Word) -> bool {
        // AcqRel: a claim's own reads come after it, and everything before it is done.
        // Acquire on failure, as every load.
        self.slot(index)
            .compare_exchange(old.into(), new.into(), AcqRel, Acquire)
            .is_ok()
    }

    #[inline]
    fn now(&self) -> Ticks {
        BootClock.now()
    }

    fn ticket(&self) -> u64 {
        // One reading of the shard: number and count must belong together.
        let shard = self.table.shard();
        let count = self.table.segment.shards()[shard].ticket();
        (shard as u64) << 48 | (count & ((1 << 48) - 1))
    }

    fn may_evict(&self) -> bool {
        self.table.segment.may_evict()
    }

    fn fence(&self) {
        portable_atomic::fence(SeqCst);
    }

    #[cold]
    fn pause(&self, tries: u32) {
        // A loser waits for longer each time, up to some microseconds: the winner then keeps the line in
        // its cache for several calls, and both get three times as much done. Whoever loses again and
        // again lets others run.
        if tries % 64 == 63 {
            std::thread::yield_now();
        }
        for _ in 0..16u32 << tries.min(4) {
            std::hint::spin_loop();
        }
    }

    #[inline]
    fn reached(&self, point: Point) {
        V::reached(point);
    }

    fn count(&self, event: Event) {
        self.table.count(event);
    }

    fn count_eviction(&self, missing: Ticks) {
        self.table.counters().count_eviction(missing);
    }
}

/// Whether the processor swaps 128 bits without a lock. Without that there is no sharing memory.
#[must_use]
pub fn is_lock_free() -> bool {
    AtomicU128::is_lock_free()
}

const _: () = assert!(size_of::<Line>() == 64 && size_of::<Header>() == 4096);
