//! What happened, counted for status: one shard a process, so that no line is shared.
//!
//! Which shard a process counts in is decided at its first count after a fork: a shard that is
//! inherited by all workers would be one contended line. A process owns its shard until it dies, so it
//! may count without an atomic addition. Sums are exact for up to 64 processes at a time; beyond, some
//! share a shard and may lose each other's counts, and so do processes that cannot see each other's numbers
//! (containers that share a named segment). A process that is killed between a grant and its
//! count leaves that one grant uncounted.

use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

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
#[derive(Debug)]
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

    /// Makes `process` the owner, if the old one is none or dead.
    fn claim(&self, process: Pid) -> bool {
        let owner = self.owner.load(Relaxed);
        let is_free = match Pid::from_raw(owner.cast_signed()) {
            None => true,
            // Who may not be asked is alive.
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

/// This process's shard.
#[inline]
pub fn shard(shards: &[Shard; SHARDS]) -> usize {
    // Relaxed: threads that race here decide alike or count in different shards.
    let shard = SHARD.load(Relaxed);
    if shard < SHARDS {
        shard
    } else {
        decide(shards)
    }
}

/// A shard that no living process owns; when there is none, one to share.
#[cold]
fn decide(shards: &[Shard; SHARDS]) -> usize {
    let process = getpid();
    let shared = process.as_raw_nonzero().get().cast_unsigned() as usize % SHARDS;
    let shard = shards.iter().position(|shard| shard.claim(process));
    let shard = shard.unwrap_or(shared);
    SHARD.store(shard, Relaxed);
    shard
}

/// How often this process's line of ancestors has forked since the first segment was mapped.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Differs between a process and its children, as their numbers do, without asking the system.
#[must_use]
pub(crate) fn generation() -> u32 {
    FORKS.load(Relaxed)
}

/// Forgets the shard, in a child right after a fork.
pub(crate) extern "C" fn forked() {
    SHARD.store(UNDECIDED, Relaxed);
    FORKS.fetch_add(1, Relaxed);
}
