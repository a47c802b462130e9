//! The store in memory that processes share without a lock.
//!
//! [`word`] is the content of a slot. [`protocol`] changes slots with one 128-bit compare-and-swap
//! at a time. [`table`] finds the slots of a key. [`SharedMemory`] is the store.
//!
//! Invariant: a process that is killed at any instruction blocks no other process. Every bucket is
//! then either as before the killed call or as after it.

pub mod batch;
pub mod block;
pub mod changes;
pub mod clients;
pub mod counters;
#[cfg(feature = "deaths")]
pub(crate) mod deaths;
pub mod diagnostics;
pub mod namespaces;
pub mod protocol;
pub mod table;
#[cfg(test)]
mod tests;
mod windows;
pub mod word;

pub use table::SharedMemory;

use clients::Day;
use counters::{By, Event};
use gcra::{
    Denial, Key, KeyHasher, Outcome, Put, Row, Step, Ticks, Timestamp, Verdict, empty_at,
    wall_clock,
};
use protocol::Variant;
use word::Lifetime;

impl<V: Variant> SharedMemory<V> {
    /// Runs one step on one bucket. `first` is used only for a bucket without a record, as in
    /// [`Step::decide_first`]. If another process creates a record meanwhile, the step runs on that
    /// record.
    ///
    /// This function is always inlined. So if a caller reads only the verdict, the other fields of
    /// the outcome are never written to memory.
    #[inline(always)]
    #[must_use]
    pub fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
        let outcome = protocol::take(&self.slots(key.hash), step, first);
        if !step.dry {
            self.tally(key, &outcome);
        }
        outcome
    }

    #[inline(always)]
    fn tally(&self, key: Key<'_>, outcome: &Outcome) {
        match outcome.verdict {
            Verdict::Granted => self.count_decision(key, By::SharedMemory, true),
            Verdict::Denied(denial) => {
                self.count_decision(key, By::SharedMemory, false);
                if denial != Denial::Insufficient || self.diagnostics().is_some() {
                    self.explain(key, denial);
                }
            }
        }
    }

    #[inline(always)]
    fn count_decision(&self, key: Key<'_>, by: By, granted: bool) {
        self.counters.count_decision(key.row, by, granted);
    }

    /// Adds a decision to the counters of `row`.
    pub fn count_in(&self, row: Row, by: By, granted: bool) {
        self.counters.count_decision(row, by, granted);
    }

    /// Counts a decision that was not made by a step in shared memory. Notes the identifier of a
    /// denial if the operator has enabled diagnostics.
    pub fn count_for(&self, key: Key<'_>, by: By, granted: bool) {
        self.count_decision(key, by, granted);
        if !granted {
            self.note_denied(key);
        }
    }

    /// Notes the identifier of a denial if the operator has enabled diagnostics. Adds it to the
    /// identifiers that the row has denied today, except in the extension's own rows, whose clients
    /// [`SharedMemory::add_denied_client`] records.
    fn note_denied(&self, key: Key<'_>) {
        if let Some(diagnostics) = self.diagnostics() {
            diagnostics.denied(self.counters.shard().0, key);
            if !self.namespaces.is_reserved(key.row) {
                self.add_denied_client(key.row, Day::of(wall_clock()), key.identifier);
            }
        }
    }

    /// Records that a client was denied on a day, in a row that the extension keeps for itself.
    /// Keeps nothing that names the client.
    #[cold]
    pub fn add_denied_client(&self, row: Row, day: Day, client: &[u8]) {
        let clients = namespaces::cell_of_row(row).and_then(|cell| self.clients.get(cell));
        if let Some(clients) = clients {
            let hasher = self.hasher.namespace(&[b"guard", b"", b"clients"]);
            clients.add(day, hasher.key(client).hash);
        }
    }

    /// Estimates the number of different clients that [`SharedMemory::add_denied_client`] has
    /// recorded for a row and a day. Returns 0 for other rows.
    pub fn denied_clients(&self, row: Row, day: Day) -> u64 {
        let clients = namespaces::cell_of_row(row).and_then(|cell| self.clients.get(cell));
        clients.map_or(0, |clients| clients.estimate(day))
    }

    /// Returns the hasher of a namespace in shared memory. `names` lists its parts as in
    /// [`KeyHasher::namespace`].
    #[inline]
    pub fn hasher_of(&self, names: [&[u8]; 2]) -> KeyHasher {
        let hasher = self.hasher.namespace(&names);
        hasher.counted_in(self.namespaces.row_of(hasher, self.hasher, names))
    }

    /// Returns the hasher of a namespace of the extension itself. `names` must have at least three
    /// parts, so that [`SharedMemory::hasher_of`] never returns the same hasher. The decisions are
    /// counted in the row with the name `row`, which must begin with `guard`.
    pub fn reserved_hasher(&self, names: &[&[u8]], row: &[u8]) -> KeyHasher {
        let row = self.namespaces.reserved(self.hasher, row);
        self.hasher.namespace(names).counted_in(row)
    }

    /// Reports whether a process has asked for the hasher of [`SharedMemory::reserved_hasher`] with
    /// the row of this name. Also true if the segment has no row left for it.
    pub fn has_row(&self, row: &[u8]) -> bool {
        self.namespaces.has_reserved(self.hasher, row)
    }

    /// Counts a denial because of contention or a full table. Notes the identifier of any denial if
    /// the operator has enabled diagnostics.
    #[cold]
    #[inline(never)]
    fn explain(&self, key: Key<'_>, denial: Denial) {
        match denial {
            Denial::Contended => self.count(Event::Contended),
            Denial::TableFull => self.count(Event::Refused),
            _ => {}
        }
        self.note_denied(key);
    }

    /// Makes a change that takes no tokens.
    pub fn put(&self, key: Key<'_>, put: &Put) {
        let slots = self.slots(key.hash);
        match *put {
            Put::Refund(refund) => {
                self.count(Event::Refund);
                changes::refund(&slots, &refund);
            }
            Put::Uncount { cost, windows, .. } => {
                self.count(Event::Refund);
                self.uncount(key, cost, windows);
            }
            Put::Advance { until } => self.advance(key, until),
            Put::Reset { .. } => {
                self.count(Event::Reset);
                changes::reset(&slots);
            }
            Put::Bootstrap { age, span } => {
                changes::bootstrap(&slots, Lifetime::covering(span), age);
            }
            Put::Raise { age, span } => {
                self.raise(key, span, |now| empty_at(now, age));
            }
        }
    }

    /// Moves the bucket's record forward to the state that `bound` returns for the current instant,
    /// or creates it in this state. Never moves a record back. Returns the state afterwards, or a
    /// denial if the table has no slot for the bucket.
    pub fn raise(
        &self,
        key: Key<'_>,
        span: Ticks,
        bound: impl Fn(Timestamp) -> Timestamp,
    ) -> Outcome {
        changes::raise(&self.slots(key.hash), Lifetime::covering(span), bound)
    }

    /// Blocks the bucket for `pause` if it denies the step for lack of tokens and is not blocked.
    /// Counts the block, and returns the denial of the blocked bucket. Returns `None` if this call
    /// has not blocked it.
    #[must_use]
    pub fn block(&self, key: Key<'_>, step: &Step, pause: Ticks) -> Option<Outcome> {
        let blocked = block::block(&self.slots(key.hash), step, pause);
        if blocked.is_some() {
            self.counters.shard().1.count_block(key.row);
        }
        blocked
    }

    /// Blocks the bucket for `pause`, also if it holds tokens. A block that ends later stays.
    /// Returns the state afterwards, or a denial if the table has no slot for the bucket.
    pub fn block_now(&self, key: Key<'_>, step: &Step, pause: Ticks) -> Outcome {
        changes::block_now(&self.slots(key.hash), step, pause)
    }

    /// Passes the state of the record and the instant to `decide`, and writes the state of the
    /// outcome that `decide` returns. A missing record has the state [`Timestamp::ZERO`]. The slot
    /// is kept for `lifetime` ticks after the instant in the state, and the record is held. Returns
    /// the outcome, or a denial if the table has no slot.
    pub fn update(
        &self,
        key: Key<'_>,
        lifetime: Ticks,
        decide: impl Fn(Timestamp, Timestamp) -> Outcome,
    ) -> Outcome {
        let lifetime = Lifetime::covering(lifetime).held();
        changes::update(&self.slots(key.hash), lifetime, decide)
    }

    /// Reports whether the bucket has a record that is not full.
    pub fn contains(&self, key: Key<'_>) -> bool {
        protocol::contains(&self.slots(key.hash))
    }
}
