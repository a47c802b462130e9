//! Counters of events, for the status. Each worker counts in its own shard of a segment, so that
//! workers do not share a cache line. A worker is a process, or a thread in a thread-safe PHP.
//!
//! A worker chooses its shard at its first count in a segment after a fork. If all workers
//! inherited one shard, they would contend for its cache line. The worker owns the shard until it
//! dies, so it may count decisions without an atomic addition.
//!
//! If all shards but the last few have owners, a further worker uses one of these last shards. They
//! never have an owner, and every count there is an atomic addition. So sums are exact for any
//! number of workers. Workers in different PID namespaces, such as containers that share a named
//! segment, may overwrite each other's counts, because their ids may be equal. A worker that is
//! killed between a grant and its count leaves that one grant uncounted.

use crate::memory::Region;
use crate::memory::fork::generation;
use crate::worker;
use gcra::Row;
use rustix::process::{Pid, getpid};
use rustix::thread::gettid;
use std::array;
use std::cell::Cell;
use std::ops::{Index, IndexMut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

pub const SHARDS: usize = 64;

/// The number of shards that a worker can own. All further workers share the other shards.
const OWNED: usize = SHARDS - 8;

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
    Cached,
    /// A call to a remote store failed.
    Failed,
    Opened,
    /// A fallback decided because a remote store failed.
    Fallback,
    /// A call was granted because a remote store failed.
    LetThrough,
    /// A call was denied because a remote store failed.
    TurnedAway,
    /// A call threw an exception because a remote store failed.
    Thrown,
    /// A state in a remote store was moved back, because the store's clock was set back.
    SetBack,
    /// A remote store has granted a call ahead.
    TakenAhead,
    /// A call was granted by tokens that were taken ahead.
    UsedAhead,
    /// Tokens that were taken ahead were given up.
    DroppedAhead,
    /// A permit was denied because all permits of its key were held.
    PermitDenied,
    /// A permit was taken back from a dead process, or on a server because its lease has ended.
    PermitTakenBack,
    /// A release found that the process did not hold the permit any more.
    PermitForeign,
}

const EVENTS: usize = Event::PermitForeign as usize + 1;

/// The part of the host or the store that decided a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// This host's shared memory, also as the fallback of a remote store.
    SharedMemory,
    Store,
    /// The denial cache, which only denies.
    DenialCache,
    /// A failure policy that uses no bucket.
    Policy,
}

/// The number of rows of decisions. The first rows belong to no single namespace; see
/// [`super::namespaces`].
pub const ROWS: usize = 64;

/// The decisions of a namespace: for each [`By`] the number of grants, and then the number of
/// denials. A row is one cache line.
type Decisions<T> = [[T; 2]; By::Policy as usize + 1];

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

impl<T> IndexMut<Row> for Rows<T> {
    fn index_mut(&mut self, row: Row) -> &mut T {
        &mut self.0[row.0 as usize % ROWS]
    }
}

impl<T> Rows<T> {
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

/// The counters of one shard. The alignment keeps other data off its cache lines.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Shard {
    decisions: Rows<DecisionCounters>,
    /// How often buckets of each row were blocked for a time.
    blocks: Rows<AtomicU64>,
    events: [AtomicU64; EVENTS],
    evicted_ticks: AtomicU64,
    evicted_ticks_max: AtomicU64,
    tickets: AtomicU64,
    /// The id of the worker that owns this shard.
    owner: AtomicU32,
}

/// The counters of a row. They are one cache line.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct DecisionCounters(Decisions<AtomicU64>);

impl Shard {
    #[inline]
    pub fn count(&self, event: Event) {
        self.add(event, 1);
    }

    #[inline]
    pub fn add(&self, event: Event, times: u64) {
        // Relaxed, because no other access depends on a count.
        self.events[event as usize].fetch_add(times, Relaxed);
    }

    /// Counts a block of a bucket whose key has this row.
    pub fn count_block(&self, row: Row) {
        self.blocks[row].fetch_add(1, Relaxed);
    }

    /// Counts a decision on a bucket whose key has this row.
    pub fn count_decision(&self, row: Row, by: By, granted: bool) {
        self.decisions(row, by, granted).fetch_add(1, Relaxed);
    }

    /// Counts a decision in a shard that the caller owns.
    #[inline]
    fn count_own_decision(&self, row: Row, by: By, granted: bool) {
        let counter = self.decisions(row, by, granted);
        // A load and a store are enough, because only the owner writes. An atomic addition would
        // take a tenth of the time of a grant.
        counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
    }

    #[inline]
    fn decisions(&self, row: Row, by: By, granted: bool) -> &AtomicU64 {
        &self.decisions[row].0[by as usize][usize::from(!granted)]
    }

    /// Makes `worker` the owner if the shard has no owner or its owner is dead. Returns whether
    /// this succeeded.
    fn claim(&self, worker: Pid) -> bool {
        // Relaxed, because the owner only accesses counters.
        worker::claim(&self.owner, worker, Relaxed)
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

/// The sums over all shards.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    events: [u64; EVENTS],
    decisions: Rows<Decisions<u64>>,
    /// How often buckets of each row were blocked for a time.
    pub blocks: Rows<u64>,
    /// The ticks that all evicted buckets lacked together.
    pub evicted_ticks: u64,
    /// The most ticks that one evicted bucket lacked.
    pub evicted_ticks_max: u64,
}

impl Totals {
    /// Adds up the counters of all `shards`.
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
            for (sum, blocks) in totals.blocks.0.iter_mut().zip(&shard.blocks.0) {
                *sum = sum.wrapping_add(blocks.load(Relaxed));
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
    pub const fn get(&self, event: Event) -> u64 {
        self.events[event as usize]
    }

    /// Returns how often buckets were blocked, over all rows.
    pub fn all_blocks(&self) -> u64 {
        self.blocks
            .values()
            .fold(0, |sum, it| sum.wrapping_add(*it))
    }

    /// Returns how many calls on buckets of a row were decided: the grants and the denials.
    pub fn decisions(&self, row: Row, by: By) -> [u64; 2] {
        self.decisions[row][by as usize]
    }

    /// Returns how many calls were decided, over all rows: the grants and the denials.
    pub fn all_decisions(&self, by: By) -> [u64; 2] {
        let rows = self.decisions.0.iter().map(|row| row[by as usize]);
        rows.fold([0; 2], |sum, row| {
            [0, 1].map(|index| sum[index].wrapping_add(row[index]))
        })
    }
}

/// The shards of a segment, and the choice of the shard in which this worker counts.
#[derive(Debug)]
pub struct Counters {
    pub(super) shards: Region<Shard>,
    /// Distinguishes these counters from those of other segments that this process has mapped.
    id: u32,
    /// Upper half: the fork generation of the process that chose. Lower half: the number of the
    /// shard that it owns. Never the current generation if threads choose, or if the process owns
    /// no shard.
    chosen: AtomicU64,
    by_thread: bool,
}

/// The number of [`Counters`] that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The latest choice of this thread: the id of the counters, the fork generation, and the
    /// number of the shard.
    static CHOICE: Cell<(u32, u32, usize)> = const { Cell::new((0, 0, 0)) };
}

impl Counters {
    pub(crate) fn new(shards: Region<Shard>) -> Self {
        Self {
            shards,
            id: MADE.fetch_add(1, Relaxed).wrapping_add(1),
            // A generation is never `u32::MAX`, so the first count chooses a shard.
            chosen: AtomicU64::new(u64::MAX),
            by_thread: false,
        }
    }

    /// Makes each thread of this process choose a shard of its own from now on.
    pub(crate) const fn count_by_thread(&mut self) {
        self.by_thread = true;
    }

    /// Counts a decision on a bucket whose key has this row.
    #[inline]
    pub fn count_decision(&self, row: Row, by: By, granted: bool) {
        match self.of_process() {
            Some(number) => self.shards[number].count_own_decision(row, by, granted),
            None => self.count_in_chosen(row, by, granted),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_in_chosen(&self, row: Row, by: By, granted: bool) {
        let number = self.choose();
        let shard = &self.shards[number];
        if number < OWNED {
            shard.count_own_decision(row, by, granted);
        } else {
            shard.count_decision(row, by, granted);
        }
    }

    /// Returns this worker's shard and the shard's number.
    #[inline]
    pub fn shard(&self) -> (usize, &Shard) {
        let number = self.of_process().unwrap_or_else(|| self.choose());
        (number, &self.shards[number])
    }

    /// Returns the number of the shard that this process owns as a whole. A process without
    /// threads of PHP needs no thread-local variable to find it.
    #[inline]
    // The casts take one half of `chosen` each.
    #[allow(clippy::cast_possible_truncation)]
    fn of_process(&self) -> Option<usize> {
        // Relaxed, because the number is all that is read.
        let chosen = self.chosen.load(Relaxed);
        let is_current = (chosen >> 32) as u32 == generation();
        is_current.then_some(chosen as u32 as usize % SHARDS)
    }

    /// Returns the number of this worker's shard. At the first call in a segment after a fork, it
    /// chooses a shard that no living worker owns. If all shards are owned, it chooses one to
    /// share.
    #[cold]
    #[inline(never)]
    fn choose(&self) -> usize {
        let generation = generation();
        let (id, chosen_in, number) = CHOICE.get();
        if (id, chosen_in) == (self.id, generation) {
            return number;
        }
        let worker = if self.by_thread { gettid() } else { getpid() };
        let shared = worker.as_raw_nonzero().get().cast_unsigned() as usize % (SHARDS - OWNED);
        let mut owned = self.shards[..OWNED].iter();
        let number = owned.position(|shard| shard.claim(worker));
        if let Some(number) = number.filter(|_| !self.by_thread) {
            let chosen = u64::from(generation) << 32 | number as u64;
            self.chosen.store(chosen, Relaxed);
        }
        let number = number.unwrap_or(OWNED + shared);
        CHOICE.set((self.id, generation, number));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Host, HostSettings, lines};
    use crate::memory::Segment;
    use crate::slots::clients::Day;
    use gcra::{Step, wall_clock};
    use std::sync::Barrier;
    use std::thread;

    fn host() -> Host {
        let settings = HostSettings {
            lines: lines(1 << 16),
            diagnostics: false,
            evict: false,
        };
        Host::new(settings, Segment::private).unwrap()
    }

    /// Returns the numbers of the shards that two calls return. Process 1, which is alive, owns all
    /// shards except `free`.
    fn chosen(free: Option<usize>) -> [usize; 2] {
        let host = host();
        let counters = &host.slots().counters;
        for (number, shard) in counters.shards.iter().enumerate() {
            let owner = u32::from(Some(number) != free);
            shard.owner.store(owner, Relaxed);
        }
        [(); 2].map(|()| counters.shard().0)
    }

    #[test]
    fn a_process_chooses_the_shard_without_an_owner() {
        for free in [0, 5, OWNED - 1] {
            assert_eq!(chosen(Some(free)), [free; 2]);
        }
    }

    #[test]
    fn a_process_shares_a_shard_if_all_have_owners() {
        let process = getpid().as_raw_nonzero().get().cast_unsigned() as usize;
        assert_eq!(chosen(None), [OWNED + process % (SHARDS - OWNED); 2]);
    }

    #[test]
    fn threads_that_own_or_share_shards_lose_no_count() {
        const THREADS: usize = 2 * SHARDS;
        const CALLS: u64 = 20_000;
        let host = host().counting_by_thread();
        let counters = &host.slots().counters;
        let all_run = Barrier::new(THREADS);
        let count = || {
            counters.shard();
            all_run.wait();
            for call in 0..CALLS {
                counters.count_decision(Row(0), By::SharedMemory, call % 2 == 0);
                counters.shard().1.count(Event::Conflict);
            }
            counters.shard().0
        };
        let mut numbers: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let totals = host.slots().totals();
        let calls = THREADS as u64 * CALLS;
        assert_eq!(totals.all_decisions(By::SharedMemory), [calls / 2; 2]);
        assert_eq!(totals.get(Event::Conflict), calls);
        numbers.retain(|&number| number < OWNED);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..56), "each has one owner");
    }

    #[test]
    fn the_last_event_is_counted() {
        let host = host();
        host.slots().count(Event::PermitForeign);
        host.slots().add(Event::PermitForeign, 2);
        assert_eq!(host.slots().totals().get(Event::PermitForeign), 3);
    }

    #[test]
    fn each_row_counts_its_blocks_and_its_denied_clients() {
        let host = host();
        let store = host.slots();
        let names = [&b"guard: a"[..], b"guard: b"];
        let hashers = names.map(|name| store.reserved_hasher(&[b"guard", b"limit", name], name));
        let (day, step) = (Day::of(wall_clock()), Step::new(1 << 40, 1 << 40));
        for (hasher, clients) in hashers.iter().zip([&[1u8, 2][..], &[3]]) {
            for client in clients.chunks(1) {
                let key = hasher.key(client);
                assert!(store.run(key, &step, None).granted());
                assert!(store.block(key, &step, 1 << 40).is_some());
                store.add_denied_client(key.row, day, client);
                store.count_in(key.row, By::Store, true);
            }
        }
        let (totals, rows) = (store.totals(), hashers.map(|hasher| hasher.key(b"").row));
        assert_eq!(rows.map(|row| totals.blocks[row]), [2, 1]);
        assert_eq!(totals.all_blocks(), 3);
        assert_eq!(rows.map(|row| totals.decisions(row, By::Store)[0]), [2, 1]);
        assert_eq!(rows.map(|row| store.denied_clients(row, day)), [2, 1]);
    }

    #[test]
    fn a_thread_chooses_the_shard_of_a_thread_that_has_ended() {
        let host = host().counting_by_thread();
        let number = || host.slots().counters.shard().0;
        let of_thread = || {
            let run = || (number(), gettid());
            let (number, thread) = thread::scope(|scope| scope.spawn(run).join().unwrap());
            worker::wait_for_end(thread);
            number
        };
        assert_eq!([of_thread(), number(), of_thread(), number()], [0, 0, 1, 0]);
    }
}
