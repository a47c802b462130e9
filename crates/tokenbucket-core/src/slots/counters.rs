//! Counters of events, for status. Each process has its own shard, so that no cache line is shared.
//!
//! A process chooses its shard at its first count after a fork. A shard that all workers inherit
//! would be one contended cache line. The process owns the shard until it dies, so it may count
//! without an atomic addition.
//!
//! Sums are exact for up to 64 processes at a time. Beyond that, some processes share a shard and
//! may lose each other's counts. The same is true of processes that cannot see each other's process
//! numbers, such as containers that share a named segment. A process that is killed between a grant
//! and its count leaves that one grant uncounted.

use crate::memory::Region;
use crate::memory::fork::generation;
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The number of shards. If there are more workers, some of them share a shard.
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
    /// A record was created.
    Inserted,
    /// The slot of a full bucket was taken for another bucket.
    Reclaimed,
    /// A claim that another process had begun was finished.
    Adopted,
    /// A key was found in two slots, one of them a claim. The conflict was resolved.
    Duplicate,
    /// The slot of an abandoned claim was taken.
    Stolen,
    /// Another process changed a slot first, so the call tried again.
    Conflict,
    /// A call was denied after too many conflicts.
    Contended,
    /// A call was denied because no slot was available.
    Refused,
    /// A bucket that was not full was evicted.
    Evicted,
    /// A remote store was contacted.
    Asked,
    /// A cached denial was returned without contacting the remote store.
    Hinted,
    /// A call to a remote store failed.
    Failed,
    /// A breaker opened.
    Opened,
    /// The fallback decided, because a remote store failed.
    FellBack,
    /// A call was granted because a remote store failed.
    LetThrough,
    /// A call was denied because a remote store failed.
    TurnedAway,
    /// A call threw an exception because a remote store failed.
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
    /// The id of the process that owns this shard.
    owner: AtomicU32,
}

impl Shard {
    /// Counts one event.
    #[inline]
    pub fn count(&self, event: Event) {
        // Relaxed: a count orders nothing. A load and a store are enough, because the shard has one
        // writer. An atomic addition would take a tenth of the time of a grant.
        let counter = &self.events[event as usize];
        counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Makes `process` the owner if the shard has no owner or its owner is dead.
    fn claim(&self, process: Pid) -> bool {
        let owner = self.owner.load(Relaxed);
        let is_free = match Pid::from_raw(owner.cast_signed()) {
            None => true,
            // Only SRCH means dead. A process that may not be signalled is alive.
            Some(pid) => pid == process || test_kill_process(pid) == Err(Errno::SRCH),
        };
        let mine = process.as_raw_nonzero().get().cast_unsigned();
        // Relaxed: only counters are read or written because of it.
        is_free
            && self
                .owner
                .compare_exchange(owner, mine, Relaxed, Relaxed)
                .is_ok()
    }

    /// Counts an eviction and the ticks that the evicted bucket lacked.
    pub fn count_eviction(&self, missing: u64) {
        self.count(Event::Evicted);
        self.evicted_ticks.fetch_add(missing, Relaxed);
        self.evicted_ticks_max.fetch_max(missing, Relaxed);
    }

    /// Returns a number that this shard has not returned before.
    pub fn ticket(&self) -> u64 {
        // Relaxed: the number must only be unique, which an atomic addition guarantees.
        self.tickets.fetch_add(1, Relaxed)
    }
}

/// The sums over all shards.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    events: [u64; EVENTS],
    /// The ticks that all evicted buckets lacked together.
    pub evicted_ticks: u64,
    /// The most ticks that one evicted bucket lacked.
    pub evicted_ticks_max: u64,
}

impl Totals {
    /// Adds up the counters of all `shards`.
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
    /// The fork generation that chose in the upper half, the number of its shard in the lower half.
    chosen: AtomicU64,
}

impl Counters {
    pub(crate) const fn new(shards: Region<Shard>) -> Self {
        Self {
            shards,
            // No process has so many ancestors that its generation is `u32::MAX`.
            chosen: AtomicU64::new(u64::MAX),
        }
    }

    /// Returns this process's shard and the shard's number.
    #[inline]
    // Each cast takes the half that it names.
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

    /// Chooses a shard that no living process owns. If there is none, chooses one to share.
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
