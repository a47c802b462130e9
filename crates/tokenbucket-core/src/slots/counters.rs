//! Counters of events, for status: one shard a process, so that no cache line is shared.
//!
//! A process chooses its shard at its first count after a fork, because a shard that all workers
//! inherit would be one contended line. It owns the shard until it dies, so it may count without an
//! atomic addition. Sums are exact for up to 64 processes at a time. Beyond that, some share a shard
//! and may lose each other's counts; so do processes that cannot see each other's numbers (containers
//! that share a named segment). A process that is killed between a grant and its count leaves that
//! one grant uncounted.

use crate::memory::Region;
use crate::memory::fork::generation;
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// How many shards. More workers than that share some.
pub const SHARDS: usize = 64;

/// The events that are counted.
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
    /// A remote store was asked.
    Asked,
    /// A remote store's denial was told from a hint, without asking.
    Hinted,
    /// A remote store did not answer as it should.
    Failed,
    /// A breaker opened.
    Opened,
    /// Answered by the local bucket, for a remote store failed.
    FellBack,
    /// Granted because a remote store failed.
    LetThrough,
    /// Denied because a remote store failed.
    TurnedAway,
    /// Thrown because a remote store failed.
    Thrown,
}

const EVENTS: usize = Event::Thrown as usize + 1;

/// The counters of one shard, alone on its cache lines.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Shard {
    events: [AtomicU64; EVENTS],
    evicted_ticks: AtomicU64,
    evicted_ticks_max: AtomicU64,
    tickets: AtomicU64,
    /// The process that counts here.
    owner: AtomicU32,
}

impl Shard {
    /// Counts one.
    #[inline]
    pub fn count(&self, event: Event) {
        // Relaxed: a count orders nothing. A load and a store: an atomic addition would cost a grant a
        // tenth of its time, and the shard has one writer.
        let counter = &self.events[event as usize];
        counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Makes `process` the owner, if there is none or it is dead.
    fn claim(&self, process: Pid) -> bool {
        let owner = self.owner.load(Relaxed);
        let is_free = match Pid::from_raw(owner.cast_signed()) {
            None => true,
            // A process that may not be signalled is alive.
            Some(pid) => pid == process || test_kill_process(pid) == Err(Errno::SRCH),
        };
        let mine = process.as_raw_nonzero().get().cast_unsigned();
        // Relaxed: nothing is read or written because of it but counters.
        is_free
            && self
                .owner
                .compare_exchange(owner, mine, Relaxed, Relaxed)
                .is_ok()
    }

    /// Counts an eviction and by how much the victim was not full.
    pub fn count_eviction(&self, missing: u64) {
        self.count(Event::Evicted);
        self.evicted_ticks.fetch_add(missing, Relaxed);
        self.evicted_ticks_max.fetch_max(missing, Relaxed);
    }

    /// Returns a number that this shard has not returned before.
    pub fn ticket(&self) -> u64 {
        // Relaxed: it must only be unique, which an atomic addition guarantees.
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
    /// Adds up all `shards`.
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

    /// Returns how often `event` was counted.
    #[must_use]
    pub const fn get(&self, event: Event) -> u64 {
        self.events[event as usize]
    }
}

/// The shards of a segment, and the one that this process counts in.
#[derive(Debug)]
pub struct Counters {
    pub(super) shards: Region<Shard>,
    /// The generation that chose in the upper half, the number of its shard in the lower.
    chosen: AtomicU64,
}

impl Counters {
    pub(crate) const fn new(shards: Region<Shard>) -> Self {
        Self {
            shards,
            // No process has so many ancestors.
            chosen: AtomicU64::new(u64::MAX),
        }
    }

    /// Returns this process's shard and its number.
    #[inline]
    // Each cast takes the half it names.
    #[allow(clippy::cast_possible_truncation)]
    pub fn shard(&self) -> (usize, &Shard) {
        // Relaxed: threads that race here choose the same shard or count in different ones.
        let chosen = self.chosen.load(Relaxed);
        let number = if (chosen >> 32) as u32 == generation() {
            chosen as u32 as usize % SHARDS
        } else {
            self.choose()
        };
        (number, &self.shards[number])
    }

    /// Chooses a shard that no living process owns, or one to share.
    #[cold]
    fn choose(&self) -> usize {
        let process = getpid();
        let shared = process.as_raw_nonzero().get().cast_unsigned() as usize % SHARDS;
        let number = self.shards.iter().position(|shard| shard.claim(process));
        let number = number.unwrap_or(shared);
        let chosen = u64::from(generation()) << 32 | number as u64;
        self.chosen.store(chosen, Relaxed);
        number
    }
}
