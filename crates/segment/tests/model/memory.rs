//! Slots, a clock and their callers, made of loom atomics.
//!
//! The clock is a relaxed loom atomic, because a clock reading orders no other accesses. A reading
//! may be stale, as if the processor had read the clock before earlier accesses of the program. So
//! the tests fail if the protocol's orderings allow this. If a caller loads a slot, its next
//! reading must not be earlier than the reading that led to the slot's word.

use crate::gates::{Gated, Gates, Threads};
use crate::packing::{pack, unpack};
use gcra::{Outcome, Put, Refund, Step, Ticks, Timestamp};
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use segment::slots::block::block;
use segment::slots::changes;
use segment::slots::counters::{Event, Shard, Totals};
use segment::slots::protocol::{self, AtomicWord, Slots, Variant};
use segment::slots::word::{Fingerprint, Lifetime, Word};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The key of most scenarios. [`X`], [`Y`] and [`Z`] are other keys.
pub const K: Fingerprint = Fingerprint::new(7);
pub const X: Fingerprint = Fingerprint::new(9);
pub const Y: Fingerprint = Fingerprint::new(11);
pub const Z: Fingerprint = Fingerprint::new(13);

/// The instant at which a scenario begins.
pub const START: Timestamp = Timestamp(1 << 40);
/// The age in ticks from which a claim counts as abandoned.
pub const ABANDONED: Ticks = 13_000_000;

/// Returns the instant `ticks` after the start of a scenario.
pub const fn at(ticks: Ticks) -> Timestamp {
    Timestamp(START.0 + ticks)
}

/// Returns a bucket with a lifetime of `lifetime` ticks that is full at `full_at`.
pub fn live(key: Fingerprint, lifetime: Ticks, full_at: Timestamp) -> Word {
    Word::live(key, Lifetime::covering(lifetime), full_at - lifetime)
}

/// The guards of the protocol. A control test sets one of them to `false`.
pub trait Guards: 'static {
    const VALIDATE: bool = true;
    const REREAD_CLOCK: bool = true;
    const FENCE: bool = true;
    /// `false` relaxes the ordering of loads.
    const ACQUIRE: bool = true;
    /// `false` relaxes the ordering of swaps.
    const RELEASE: bool = true;
}

/// The protocol with all guards.
pub struct Meant;
impl Guards for Meant {}

/// The variant of the protocol with the guards of `G`.
pub struct Guarded<G>(PhantomData<G>);
impl<G: Guards> Variant for Guarded<G> {
    const VALIDATE: bool = G::VALIDATE;
    const REREAD_CLOCK: bool = G::REREAD_CLOCK;
    /// Three threads never need this many tries. So a `Contended` denial means a livelock.
    const PATIENCE: u32 = 24;
}

/// The number of writes that a caller may try before it is killed.
pub type Life = u32;
pub const IMMORTAL: Life = Life::MAX;

/// The memory that the threads share.
pub struct Memory {
    slots: Vec<Gated>,
    clock: Clock,
    evict: bool,
    threads: Threads,
    /// The one shard in which all callers count, like processes that share a shard. Its atomics are
    /// not loom atomics, because no other access depends on counts.
    shard: Shard,
}

/// The clock. A clock that stands still while threads run needs no gates.
struct Clock {
    gates: Option<Gates>,
    now: AtomicU64,
}

impl Memory {
    /// Creates a memory with a clock that stands still while threads run.
    pub fn still(slots: &[Word], now: Timestamp) -> Arc<Self> {
        Self::new(slots, None, now, false)
    }

    /// Creates a memory with a clock that threads advance by [`Memory::until`].
    pub fn running(slots: &[Word], now: Timestamp) -> Arc<Self> {
        Self::new(slots, Some(Gates::new()), now, false)
    }

    /// Creates a memory as [`Memory::running`] does, in which buckets that are not full may be
    /// evicted.
    pub fn evicting(slots: &[Word], now: Timestamp) -> Arc<Self> {
        Self::new(slots, Some(Gates::new()), now, true)
    }

    fn new(slots: &[Word], gates: Option<Gates>, now: Timestamp, evict: bool) -> Arc<Self> {
        let slots = slots.iter().map(|&word| Gated::new(pack(word)));
        Arc::new(Self {
            slots: slots.collect(),
            clock: Clock {
                gates,
                now: AtomicU64::new(now.0),
            },
            evict,
            threads: Threads::default(),
            shard: Shard::default(),
        })
    }

    fn now(&self) -> Timestamp {
        if let Some(gates) = &self.clock.gates {
            gates.pass(self.threads.current());
        }
        Timestamp(self.clock.now.load(Relaxed))
    }

    /// Advances the clock to `instant`.
    pub fn until(&self, instant: Timestamp) {
        let advance = || self.clock.now.fetch_max(instant.0, Relaxed);
        match &self.clock.gates {
            Some(gates) => gates.write(advance),
            None => advance(),
        };
    }

    /// Returns a caller of `key` that is not killed, with all guards of the protocol.
    pub fn caller(self: &Arc<Self>, key: Fingerprint) -> Caller<Meant> {
        self.mortal(key, IMMORTAL)
    }

    /// Returns a caller of `key` that is killed when it tries to write more than `life` times.
    pub fn mortal<G: Guards>(self: &Arc<Self>, key: Fingerprint, life: Life) -> Caller<G> {
        Caller {
            memory: Arc::clone(self),
            key,
            life: Cell::new(life),
            guards: PhantomData,
        }
    }

    /// Returns the words of all slots. The threads must have ended.
    pub fn words(&self) -> Vec<Word> {
        let thread = self.threads.current();
        let load = |slot: &Gated| slot.read(thread, |word| word.load(Ordering::Acquire));
        self.slots.iter().map(|slot| unpack(load(slot))).collect()
    }

    /// Returns the record of `key`, or `None` if it has no record. The threads must have ended.
    /// Panics if the key has two records.
    pub fn record(&self, key: Fingerprint) -> Option<Word> {
        let is_record = |word: &Word| word.is_of(key) && !word.is_pending();
        let records: Vec<Word> = self.words().into_iter().filter(is_record).collect();
        assert!(records.len() <= 1, "a key lives twice: {records:?}");
        records.first().copied()
    }

    /// Returns the number of claims that were taken because they seemed abandoned.
    pub fn stolen(&self) -> u64 {
        self.totals().get(Event::Stolen)
    }

    /// Returns the ticks that all evicted buckets lacked together.
    pub fn evicted(&self) -> Ticks {
        self.totals().evicted_ticks
    }

    fn totals(&self) -> Totals {
        Totals::of(std::slice::from_ref(&self.shard))
    }
}

/// A caller of one key, in one thread.
pub struct Caller<G: Guards> {
    memory: Arc<Memory>,
    key: Fingerprint,
    life: Cell<Life>,
    guards: PhantomData<G>,
}

/// The panic payload of a caller that is killed. Unwinding runs no code of the protocol, so the
/// panic ends a call as `kill -9` does.
struct Killed;

impl<G: Guards> Caller<G> {
    fn alive<R>(&self, call: impl FnOnce(&Self) -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(|| call(self))) {
            Ok(answer) => Some(answer),
            Err(reason) if reason.is::<Killed>() => None,
            Err(reason) => resume_unwind(reason),
        }
    }

    /// Takes tokens that cost `cost` ticks. Returns `None` if the caller is killed during the call.
    pub fn take(&self, cost: Ticks, span: Ticks) -> Option<Outcome> {
        self.alive(|slots| protocol::take(slots, &Step::new(cost, span), None))
    }

    /// Does the same as [`Caller::take`], but proposes the first state `first`.
    pub fn take_first(&self, cost: Ticks, span: Ticks, first: Timestamp) -> Option<Outcome> {
        self.alive(|slots| protocol::take(slots, &Step::new(cost, span), Some(first)))
    }

    pub fn refund(&self, cost: Ticks, span: Ticks) {
        let refund = Refund {
            cost,
            span,
            taken: Put::VOUCHED,
            in_debt: cost,
        };
        self.alive(|slots| changes::refund(slots, &refund));
    }

    pub fn reset(&self) {
        self.alive(changes::reset);
    }

    pub fn bootstrap(&self, age: i64) {
        self.alive(|slots| changes::bootstrap(slots, Lifetime::UNKNOWN, age));
    }

    pub fn raise(&self, bound: Timestamp) {
        self.alive(|slots| changes::raise(slots, Lifetime::UNKNOWN, |_| bound));
    }

    /// Blocks the bucket after a denial. Returns whether this call has blocked it.
    pub fn block(&self, cost: Ticks, span: Ticks, pause: Ticks) -> bool {
        let blocked = self.alive(|slots| block(slots, &Step::new(cost, span), pause));
        blocked.flatten().is_some()
    }

    /// Blocks the bucket as an operator does.
    pub fn block_now(&self, cost: Ticks, span: Ticks, pause: Ticks) {
        self.alive(|slots| changes::block_now(slots, &Step::new(cost, span), pause));
    }

    /// Takes tokens and gives them back, as a batch does if a later bucket denies.
    pub fn take_and_undo(&self, cost: Ticks, span: Ticks) -> bool {
        let step = Step::new(cost, span);
        let granted = self.alive(|slots| {
            let (outcome, found) = protocol::take_found(slots, &step);
            if outcome.granted() {
                changes::undo(slots, &step, &outcome, found.map(|(_, word)| word), None);
            }
            outcome.granted()
        });
        granted == Some(true)
    }

    pub fn until(&self, instant: Timestamp) {
        self.memory.until(instant);
    }
}

impl<G: Guards> Slots for Caller<G> {
    type Variant = Guarded<G>;
    type Slot<'s> = Access<'s, G>;

    fn len(&self) -> usize {
        self.memory.slots.len()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.key
    }

    fn slot(&self, index: usize) -> Access<'_, G> {
        Access {
            slot: &self.memory.slots[index],
            caller: self,
        }
    }

    fn shard(&self) -> (usize, &Shard) {
        (0, &self.memory.shard)
    }

    fn now(&self) -> Timestamp {
        self.memory.now()
    }

    fn may_evict(&self) -> bool {
        self.memory.evict
    }

    fn fence(&self, order: Ordering) {
        if G::FENCE {
            fence(order);
        }
    }

    fn pause(&self, _: u32) {
        loom::thread::yield_now();
    }
}

pub struct Access<'s, G: Guards> {
    slot: &'s Gated,
    caller: &'s Caller<G>,
}

impl<G: Guards> AtomicWord for Access<'_, G> {
    fn load(self, order: Ordering) -> Word {
        let order = if G::ACQUIRE { order } else { Relaxed };
        let thread = self.caller.memory.threads.current();
        unpack(self.slot.read(thread, |word| word.load(order)))
    }

    fn swap(self, old: Word, new: Word, done: Ordering, failed: Ordering) -> bool {
        match self.caller.life.get() {
            0 => resume_unwind(Box::new(Killed)),
            IMMORTAL => {}
            life => self.caller.life.set(life - 1),
        }
        let (done, failed) = if G::RELEASE {
            (done, failed)
        } else {
            (Relaxed, Relaxed)
        };
        let (old, new) = (pack(old), pack(new));
        let swap = |word: &AtomicU64| word.compare_exchange(old, new, done, failed).is_ok();
        self.slot.write(swap)
    }
}
