//! Counters of events, for the status. Each process counts in its own shard of a segment, so that
//! processes do not share a cache line.
//!
//! A process chooses its shard at its first count in a segment after a fork. If all workers
//! inherited one shard, they would contend for its cache line. The process owns the shard until it
//! dies, so it may count without an atomic addition.
//!
//! Sums are exact for up to 64 processes at a time. With more processes, some of them share a shard
//! and may overwrite each other's counts. The same can happen to processes in different PID
//! namespaces, such as containers that share a named segment. A process that is killed between a
//! grant and its count leaves that one grant uncounted.

use crate::key::Row;
use crate::memory::Region;
use crate::memory::fork::generation;
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};
use std::array;
use std::ops::Index;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The number of shards. If more processes count, some of them share a shard.
pub const SHARDS: usize = 64;

/// The events that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Tokens were given back.
    Refund,
    /// A bucket was filled.
    Reset,
    /// A record was created.
    Inserted,
    /// The slot of a full bucket was claimed for another bucket.
    Reclaimed,
    /// A call finished a claim that another process had begun.
    Adopted,
    /// After a claim, the same key was found in another slot. The call gave up its own claim or
    /// emptied the other slot.
    Duplicate,
    /// The slot of an abandoned claim was claimed for another bucket.
    Stolen,
    /// Another process changed a slot first, so the call retried.
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
    /// A fallback decided because a remote store failed.
    FellBack,
    /// A call was granted because a remote store failed.
    LetThrough,
    /// A call was denied because a remote store failed.
    TurnedAway,
    /// A call threw an exception because a remote store failed.
    Thrown,
    /// A state in a remote store was moved back, because the store's clock was set back.
    SetBack,
}

const EVENTS: usize = Event::SetBack as usize + 1;

/// The part of the host or the store that decided a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// This host's shared memory, also as the fallback of a remote store.
    SharedMemory,
    /// The remote store.
    Store,
    /// The denial cache, which only denies.
    DenialCache,
    /// A failure policy that uses no bucket.
    Policy,
}

/// The number of rows of decisions. The first rows belong to no single namespace; see
/// [`super::namespaces`].
pub const ROWS: usize = 64;

/// The decisions of a namespace, by [`By`]: first those that granted, then those that denied. A row
/// is one cache line.
type Decisions<T> = [[T; 2]; By::Policy as usize + 1];

/// One value for each row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<T>([T; ROWS]);

impl<T: Default> Default for Rows<T> {
    fn default() -> Self {
        Self(array::from_fn(|_| T::default()))
    }
}

impl<T> Index<Row> for Rows<T> {
    type Output = T;

    #[inline]
    fn index(&self, row: Row) -> &T {
        // The remainder makes every number valid.
        &self.0[row.0 as usize % ROWS]
    }
}

/// The counters of one shard. The alignment keeps other data off its cache lines.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Shard {
    decisions: Rows<DecisionCounters>,
    events: [AtomicU64; EVENTS],
    evicted_ticks: AtomicU64,
    evicted_ticks_max: AtomicU64,
    tickets: AtomicU64,
    /// The id of the process that owns this shard.
    owner: AtomicU32,
}

/// The counters of a row. They are one cache line.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct DecisionCounters(Decisions<AtomicU64>);

impl Shard {
    /// Counts one event.
    #[inline]
    pub fn count(&self, event: Event) {
        add_one(&self.events[event as usize]);
    }

    /// Counts a decision on a bucket whose key has this row.
    #[inline]
    pub fn count_decision(&self, row: Row, by: By, granted: bool) {
        add_one(&self.decisions[row].0[by as usize][usize::from(!granted)]);
    }

    /// Makes `process` the owner if the shard has no owner or its owner is dead. Returns whether
    /// this succeeded.
    fn claim(&self, process: Pid) -> bool {
        let owner = self.owner.load(Relaxed);
        let is_free = match Pid::from_raw(owner.cast_signed()) {
            None => true,
            // Only SRCH means that the process is dead. Any other error means that it exists.
            Some(pid) => pid == process || test_kill_process(pid) == Err(Errno::SRCH),
        };
        let mine = process.as_raw_nonzero().get().cast_unsigned();
        // Relaxed, because the owner only accesses counters.
        is_free
            && self
                .owner
                .compare_exchange(owner, mine, Relaxed, Relaxed)
                .is_ok()
    }

    /// Counts an eviction. `missing` is the number of ticks that the evicted bucket lacked.
    pub fn count_eviction(&self, missing: u64) {
        self.count(Event::Evicted);
        self.evicted_ticks.fetch_add(missing, Relaxed);
        self.evicted_ticks_max.fetch_max(missing, Relaxed);
    }

    /// Returns a number that this shard has not returned before.
    pub fn ticket(&self) -> u64 {
        // Relaxed, because the number must only be unique. An atomic addition guarantees that.
        self.tickets.fetch_add(1, Relaxed)
    }
}

#[inline]
fn add_one(counter: &AtomicU64) {
    // Relaxed, because no other access depends on a count. A load and a store are enough, because
    // only one process writes to the shard. An atomic addition would take a tenth of the time of a
    // grant.
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

/// The sums over all shards.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    events: [u64; EVENTS],
    decisions: Rows<Decisions<u64>>,
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
            let rows = totals.decisions.0.iter_mut().zip(&shard.decisions.0);
            for (sums, counters) in rows {
                let sums = sums.as_flattened_mut().iter_mut();
                for (sum, counter) in sums.zip(counters.0.as_flattened()) {
                    *sum = sum.wrapping_add(counter.load(Relaxed));
                }
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

    /// Returns how many calls on buckets of a row were decided: the grants and the denials.
    #[must_use]
    pub fn decisions(&self, row: Row, by: By) -> [u64; 2] {
        self.decisions[row][by as usize]
    }

    /// Returns how many calls were decided, over all rows: the grants and the denials.
    #[must_use]
    pub fn all_decisions(&self, by: By) -> [u64; 2] {
        let rows = self.decisions.0.iter().map(|row| row[by as usize]);
        rows.fold([0; 2], |sum, row| {
            [0, 1].map(|index| sum[index].wrapping_add(row[index]))
        })
    }
}

/// The shards of a segment, and the choice of the shard in which this process counts.
#[derive(Debug)]
pub struct Counters {
    pub(super) shards: Region<Shard>,
    /// Upper half: the fork generation of the process that chose. Lower half: the number of its
    /// shard.
    chosen: AtomicU64,
}

impl Counters {
    pub(crate) const fn new(shards: Region<Shard>) -> Self {
        Self {
            shards,
            // A generation is never `u32::MAX`, so the first count chooses a shard.
            chosen: AtomicU64::new(u64::MAX),
        }
    }

    /// Returns this process's shard and the shard's number.
    #[inline]
    // The casts take one half of `chosen` each.
    #[allow(clippy::cast_possible_truncation)]
    pub fn shard(&self) -> (usize, &Shard) {
        // Relaxed, because a race between threads is harmless. The threads choose the same shard,
        // or they count in different shards.
        let chosen = self.chosen.load(Relaxed);
        let number = if (chosen >> 32) as u32 == generation() {
            chosen as u32 as usize % SHARDS
        } else {
            self.choose()
        };
        (number, &self.shards[number])
    }

    /// Chooses a shard that no living process owns, and returns its number. If all shards are
    /// owned, chooses one to share.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::host::{Host, Settings, lines};
    use crate::memory::Segment;

    /// Returns the numbers of the shards that two calls return. Process 1, which is alive, owns all
    /// shards except `free`.
    fn chosen(free: Option<usize>) -> [usize; 2] {
        let settings = Settings {
            lines: lines(1 << 16),
            diagnostics: false,
            evict: false,
        };
        let host: Host = Host::new(settings, Segment::private).unwrap();
        let counters = &host.slots().counters;
        for (number, shard) in counters.shards.iter().enumerate() {
            let owner = u32::from(Some(number) != free);
            shard.owner.store(owner, Relaxed);
        }
        [(); 2].map(|()| counters.shard().0)
    }

    #[test]
    fn a_process_chooses_the_shard_without_an_owner() {
        for free in [0, 5, SHARDS - 1] {
            assert_eq!(chosen(Some(free)), [free; 2]);
        }
    }

    #[test]
    fn a_process_shares_a_shard_if_all_have_owners() {
        let process = getpid().as_raw_nonzero().get().cast_unsigned() as usize;
        assert_eq!(chosen(None), [process % SHARDS; 2]);
    }
}
