//! Buckets in memory that processes share, without a lock.
//!
//! [`crate::memory`] makes the memory, [`table`] lays slots out in it, [`protocol`] changes them, one
//! 128-bit compare-and-swap at a time, and [`word`] is what a slot holds. [`SharedMemory`] is the
//! store made of them.
//!
//! Invariant: a process that is killed at any instruction leaves every bucket either as before its
//! call or as after it, and blocks nobody.
#![allow(unsafe_code)]

pub mod counters;
#[cfg(feature = "deaths")]
mod deaths;
pub mod diagnostics;
pub mod protocol;
pub mod table;
pub mod word;

use crate::clock::Ticks;
use crate::key::{Key, KeyHasher};
use crate::memory::Segment;
use crate::remote::breaker::Breakers;
use crate::remote::denial_cache::Hints;
use crate::step::{Denial, Outcome, Step, Verdict};
use crate::store::{Put, Store};
use counters::Event;
use std::convert::Infallible;
use table::{Production, SlotTable, Variant};

/// The store in shared memory. `V` is [`Production`] but in tests that break the protocol on purpose.
#[derive(Debug)]
pub struct SharedMemory<V: Variant = Production> {
    table: SlotTable<V>,
}

impl<V: Variant> SharedMemory<V> {
    /// The store in `segment`.
    #[must_use]
    pub fn new(segment: Segment) -> Self {
        Self {
            table: SlotTable::new(segment),
        }
    }

    /// The segment, when nobody uses the store any more.
    #[must_use]
    pub fn into_segment(self) -> Segment {
        self.table.into_segment()
    }

    /// Makes keys of this store, in no namespace yet.
    #[must_use]
    pub fn hasher(&self) -> KeyHasher {
        KeyHasher::new(self.table.secret())
    }

    /// The slots, for status and tests.
    #[must_use]
    pub fn table(&self) -> &SlotTable<V> {
        &self.table
    }

    /// The breakers of remote stores.
    #[must_use]
    pub fn breakers(&self) -> &Breakers {
        self.table.segment().breakers()
    }

    /// What is known of buckets in remote stores.
    #[must_use]
    pub fn hints(&self) -> Hints<'_> {
        self.table.segment().hints()
    }

    /// Counts what happened.
    pub fn count(&self, event: Event) {
        self.table.count(event);
    }

    /// [`Store::take`], which cannot fail here.
    ///
    /// Always inlined: an outcome that is only asked for its verdict is then never written down.
    #[inline(always)]
    #[must_use]
    pub fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome {
        let slots = self.table.slots(key.hash);
        let outcome = protocol::take(&slots, step, first);
        if !step.dry {
            self.tally(key, &outcome);
        }
        outcome
    }

    #[inline(always)]
    fn tally(&self, key: Key<'_>, outcome: &Outcome) {
        match outcome.verdict {
            Verdict::Granted => self.table.count(Event::Granted),
            Verdict::Denied(denial) => {
                self.table.count(Event::Denied);
                if denial != Denial::Insufficient || self.table.diagnostics().is_some() {
                    self.explain(key, denial);
                }
            }
        }
    }

    /// Counts a denial of a rare kind, and notes whose it was where that is asked for.
    #[cold]
    #[inline(never)]
    fn explain(&self, key: Key<'_>, denial: Denial) {
        match denial {
            Denial::Contended => self.table.count(Event::Contended),
            Denial::TableFull => self.table.count(Event::Refused),
            Denial::Insufficient | Denial::ExceedsCapacity | Denial::Unavailable => {}
        }
        if let Some(diagnostics) = self.table.diagnostics() {
            diagnostics.denied(self.table.shard(), key);
        }
    }

    /// [`Store::put`], which cannot fail here.
    pub fn put(&self, key: Key<'_>, put: &Put) {
        let slots = self.table.slots(key.hash);
        match *put {
            Put::Refund { cost, burst } => {
                self.table.count(Event::Refund);
                protocol::refund(&slots, cost, burst);
            }
            Put::Reset { .. } => {
                self.table.count(Event::Reset);
                protocol::reset(&slots);
            }
            Put::Bootstrap { age } => protocol::bootstrap(&slots, age),
        }
    }

    /// Whether the bucket has a record that is not full.
    #[must_use]
    pub fn contains(&self, key: Key<'_>) -> bool {
        protocol::contains(&self.table.slots(key.hash))
    }
}

impl<V: Variant> Store for SharedMemory<V> {
    type Error = Infallible;

    fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Result<Outcome, Infallible> {
        Ok(Self::take(self, key, step, first))
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Infallible> {
        Self::put(self, key, put);
        Ok(())
    }
}
