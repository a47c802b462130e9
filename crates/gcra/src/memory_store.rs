//! A store in the memory of one owner, with a clock that changes only when the owner advances it.
//!
//! Tests of code that uses buckets run on this store. Tests also compare other stores with this
//! simple store.

use crate::batch::{Batched, Grouped, Taken, sum};
use crate::clock::{TICKS_PER_SECOND, Ticks, Timestamp};
use crate::key::Key;
use crate::step::{Outcome, Step};
use crate::store::{Put, Refund};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// The start of the clock: 2024-01-01T00:00:00Z, as a Unix time. It was a Monday.
pub const START: Timestamp = Timestamp(1_704_067_200 * TICKS_PER_SECOND);

/// The latest instant of the clock: 109 years after its start. An instant that is at most
/// `MAX_WAIT` later is below 2^63.
const LATEST: Timestamp = Timestamp(START.0 + (1 << 62) - (1 << 60));

/// A store in the memory of one owner.
#[derive(Debug)]
pub struct MemoryStore {
    now: Cell<Timestamp>,
    records: RefCell<HashMap<u128, MemoryRecord>>,
}

#[derive(Clone, Copy, Debug)]
struct MemoryRecord {
    empty_at: Timestamp,
    /// The greatest span, in ticks, of the steps that took from the bucket since it was last full.
    span: Ticks,
}

impl MemoryRecord {
    fn is_full(self, now: Timestamp) -> bool {
        // An instant is below 2^63 and a span at most 2^61, so this cannot overflow.
        self.empty_at + self.span <= now
    }
}

impl Default for MemoryStore {
    /// Creates a store without buckets, at the start of its clock.
    fn default() -> Self {
        Self {
            now: Cell::new(START),
            records: RefCell::default(),
        }
    }
}

impl MemoryStore {
    /// Returns the current instant of this store's clock.
    pub fn now(&self) -> Timestamp {
        self.now.get()
    }

    /// Returns the ticks by which the clock can still advance. An instant that is at most
    /// `MAX_WAIT` after the end of this clock is below 2^63.
    pub fn left(&self) -> Ticks {
        LATEST - self.now.get()
    }

    /// Advances the clock by `ticks`, at most by [`MemoryStore::left`]. Forgets the buckets that
    /// are full at the new instant.
    pub fn advance(&self, ticks: Ticks) {
        let now = self.now.get() + ticks.min(self.left());
        self.now.set(now);
        self.records
            .borrow_mut()
            .retain(|_, record| !record.is_full(now));
    }

    /// Reports whether the bucket has a record.
    pub fn contains(&self, key: Key<'_>) -> bool {
        self.records.borrow().contains_key(&key.hash)
    }

    /// Runs one step. `first` is used only for a bucket without a record, as in
    /// [`Step::decide_first`]. Grants no tokens that are due after the end of the clock.
    pub fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
        let now = self.now.get();
        let step = Step {
            max_wait: step.max_wait.min(self.left().cast_signed()),
            ..*step
        };
        let record = self.find(key);
        let outcome = step.decide_on(record.map(|record| record.empty_at), first, now);
        let before = record.map_or(Timestamp::ZERO, |record| record.empty_at);
        if !step.dry && outcome.empty_at != before {
            let span = record.map_or(0, |record| record.span);
            let record = MemoryRecord {
                empty_at: outcome.empty_at,
                span: span.max(step.lifetime()),
            };
            self.records.borrow_mut().insert(key.hash, record);
        }
        outcome
    }

    /// Returns the record of a bucket that is not full.
    fn find(&self, key: Key<'_>) -> Option<MemoryRecord> {
        let found = self.records.borrow().get(&key.hash).copied();
        found.filter(|record| !record.is_full(self.now.get()))
    }

    /// Returns the step that would be denied, or `None` if all would be granted. Takes nothing.
    #[must_use]
    pub fn refused(&self, tickets: Grouped<'_, '_>) -> Option<Taken> {
        let dry = |step: Step| step.dry();
        self.each_bucket(tickets, dry).err()
    }

    /// Takes the tokens of all steps or of none. A bucket may be listed several times. Fails with
    /// the step that was denied.
    pub fn take_all(&self, tickets: Grouped<'_, '_>) -> Batched {
        // No other call comes between, because the store has one owner.
        self.refused(tickets).map_or(Ok(()), Err)?;
        self.each_bucket(tickets, |step| step)
    }

    /// Runs the steps on each bucket as one step, after `changed` has changed this step. Stops at a
    /// denial.
    fn each_bucket(&self, tickets: Grouped<'_, '_>, changed: impl Fn(Step) -> Step) -> Batched {
        let taken = tickets.buckets().map(|mine| {
            let step = changed(sum(mine));
            let taken = Taken::of(mine, self.take(mine[0].key, &step, None));
            taken.outcome.granted().then_some(taken).ok_or(taken)
        });
        taken.collect()
    }

    /// Makes a change that takes no tokens.
    pub fn put(&self, key: Key<'_>, put: &Put) {
        let found = self.find(key);
        let mut records = self.records.borrow_mut();
        let state = put.apply(found.map(|record| record.empty_at), self.now.get());
        let least = match *put {
            Put::Raise { span, .. } | Put::Refund(Refund { span, .. }) => span,
            Put::Bootstrap { span, .. } if found.is_none() => span,
            _ => 0,
        };
        let span = found.map_or(0, |record| record.span).max(least);
        match state {
            Some(empty_at) => drop(records.insert(key.hash, MemoryRecord { empty_at, span })),
            None => drop(records.remove(&key.hash)),
        }
    }

    /// Passes the state of the bucket and the instant to `decide`, and writes the state of the
    /// outcome that `decide` returns. A bucket without a record has the state [`Timestamp::ZERO`].
    /// The record lives for `span` ticks after the instant in the state. Returns the outcome.
    pub fn update(
        &self,
        key: Key<'_>,
        span: Ticks,
        decide: impl Fn(Timestamp, Timestamp) -> Outcome,
    ) -> Outcome {
        let found = self.find(key);
        let state = found.map_or(Timestamp::ZERO, |record| record.empty_at);
        let outcome = decide(state, self.now.get());
        if outcome.empty_at != state {
            let span = found.map_or(span, |record| record.span.max(span));
            let empty_at = outcome.empty_at;
            let record = MemoryRecord { empty_at, span };
            self.records.borrow_mut().insert(key.hash, record);
        }
        outcome
    }
}
