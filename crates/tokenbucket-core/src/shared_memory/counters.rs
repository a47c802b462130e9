//! What happened, counted for status: one shard a worker, so that no line is shared.
//!
//! Which shard a process counts in is decided at its first count after a fork: a shard that is
//! inherited by all workers would be one contended line. Sums are exact; a worker that is killed
//! between a grant and its count leaves that one grant uncounted.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// How many shards. More workers than that share some.
pub const SHARDS: usize = 64;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Tokens were taken.
    Granted,
    /// Tokens were not taken.
    Denied,
    /// Tokens were given back.
    Refund,
    /// A bucket was filled.
    Reset,
    /// A record was made.
    Inserted,
    /// A full bucket's slot was taken for another.
    Reclaimed,
    /// A claim that another process began was finished.
    Adopted,
    /// A key was found in two slots, one of them a claim; resolved.
    Duplicate,
    /// An abandoned claim's slot was taken.
    Stolen,
    /// Another process changed a slot first; tried again.
    Conflict,
    /// Denied because that happened too often.
    Contended,
    /// Denied because there was no slot.
    Refused,
    /// A bucket that was not full was forgotten.
    Evicted,
}

const EVENTS: usize = Event::Evicted as usize + 1;

/// The counters of one shard, alone on its cache lines.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Shard {
    events: [AtomicU64; EVENTS],
    evicted_ticks: AtomicU64,
    evicted_ticks_max: AtomicU64,
    tickets: AtomicU64,
}

impl Shard {
    /// Counts one.
    #[inline]
    pub fn count(&self, event: Event) {
        // Relaxed: a count orders nothing.
        self.events[event as usize].fetch_add(1, Relaxed);
    }

    /// Counts an eviction and by how much the victim was not full.
    pub fn count_eviction(&self, missing: u64) {
        self.count(Event::Evicted);
        self.evicted_ticks.fetch_add(missing, Relaxed);
        self.evicted_ticks_max.fetch_max(missing, Relaxed);
    }

    /// A number that this shard has not given before.
    pub fn ticket(&self) -> u64 {
        // Relaxed: only its being unique counts, and an atomic addition sees to that.
        self.tickets.fetch_add(1, Relaxed)
    }
}

/// Sums over shards.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    events: [u64; EVENTS],
    /// By how much all evicted buckets were not full, in ticks.
    pub evicted_ticks: u64,
    /// The most that one was not full.
    pub evicted_ticks_max: u64,
}

impl Totals {
    /// Of all `shards`.
    #[must_use]
    pub fn of(shards: &[Shard]) -> Self {
        let mut totals = Self::default();
        for shard in shards {
            for (sum, event) in totals.events.iter_mut().zip(&shard.events) {
                *sum = sum.wrapping_add(event.load(Relaxed));
            }
            totals.evicted_ticks = totals
                .evicted_ticks
                .wrapping_add(shard.evicted_ticks.load(Relaxed));
            totals.evicted_ticks_max = totals
                .evicted_ticks_max
                .max(shard.evicted_ticks_max.load(Relaxed));
        }
        totals
    }

    /// How often `event` was counted.
    #[must_use]
    pub const fn get(&self, event: Event) -> u64 {
        self.events[event as usize]
    }
}

const UNDECIDED: usize = usize::MAX;

/// This process's shard; undecided after a fork.
static SHARD: AtomicUsize = AtomicUsize::new(UNDECIDED);

/// This process's shard; the first time after a fork it is the one that `next` tells.
#[inline]
pub fn shard(next: impl FnOnce() -> usize) -> usize {
    // Relaxed: threads that race here may count in different shards, which is harmless.
    let shard = SHARD.load(Relaxed);
    if shard < SHARDS { shard } else { decide(next) }
}

#[cold]
fn decide(next: impl FnOnce() -> usize) -> usize {
    let shard = next() % SHARDS;
    SHARD.store(shard, Relaxed);
    shard
}

/// Forgets the shard, in a child right after a fork.
pub extern "C" fn forked() {
    SHARD.store(UNDECIDED, Relaxed);
}
