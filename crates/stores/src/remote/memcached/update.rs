//! Changes items by compare-and-swap, many items in one round trip.
//!
//! Each item is read, decided and written, until its write succeeds or nothing needs to be written.
//! In each round, the next commands of all items are sent in one write.

use super::wire::{Connection, Item};
use super::{clock, life};
use crate::remote::back_off::{is_over, pause};
use crate::remote::{Cause, StateKind, StepRequest, record};
use gcra::{Outcome, Refill, Step, TICKS_PER_MICROSECOND, Timestamp, empty_at};
use segment::slots::word::Lifetime;

/// The state of a bucket, read from its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ItemState {
    /// The instant at which the bucket was empty; 0 if it was reset or has no record.
    pub(super) empty_at: Timestamp,
    /// True if the record was lost and restored.
    pub(super) healed: bool,
    /// The greatest lifetime of the steps that took from the bucket since it was last full.
    pub(super) lifetime: Lifetime,
}

impl ItemState {
    /// Reads the record of `item`, and then the clock. If there is no item, restores the bucket
    /// that was empty `seen` ticks ago. Returns `None` if the item is invalid.
    fn of(item: Option<&Item>, seen: Option<i64>) -> Option<(Self, Timestamp)> {
        let healed = item.is_none() && seen.is_some();
        let Some(item) = item else {
            let now = clock::now(Timestamp::ZERO);
            let restored = |age| empty_at(now, age).floor(TICKS_PER_MICROSECOND);
            let state = Self {
                empty_at: seen.map_or(Timestamp::ZERO, restored),
                healed,
                lifetime: Lifetime::LEAST,
            };
            return Some((state, now));
        };
        let record = record::parse(&item.value)?;
        let now = clock::now(record.written);
        let full_at = |it: Lifetime| record.empty_at.saturating_add(it.ticks());
        let lifetime = Lifetime::of_flags(item.flags);
        let is_full = lifetime.is_some_and(|it| full_at(it) <= now);
        let state = Self {
            empty_at: if is_full {
                Timestamp::ZERO
            } else {
                record.empty_at
            },
            healed,
            lifetime: lifetime.filter(|_| !is_full).unwrap_or(Lifetime::LEAST),
        };
        Some((state, now))
    }

    /// Returns the lifetime of the record after a step. A window has none, because a call that is
    /// late takes from a window that has ended.
    pub(super) fn lifetime_after(self, step: &Step) -> Lifetime {
        match step.refill {
            Refill::Windows(_) => Lifetime::LEAST,
            _ => self.lifetime.max(Lifetime::covering(step.lifetime())),
        }
    }

    pub(super) fn found(self, step: &Step) -> StateKind {
        match (self.is_absent(), self.healed) {
            (true, _) => StateKind::Nothing,
            (false, true) => StateKind::Restored,
            (false, false) if self.lifetime < Lifetime::covering(step.lifetime()) => {
                StateKind::Shorter
            }
            (false, false) => StateKind::Record,
        }
    }

    pub(super) fn is_absent(self) -> bool {
        self.empty_at == Timestamp::ZERO
    }

    pub(super) fn decide(self, request: &StepRequest, now: Timestamp) -> Outcome {
        if !self.is_absent() {
            return request.step.decide(self.empty_at, now);
        }
        // Round up, because a bucket that was empty later contains less.
        let whole = |age| empty_at(now, age).ceil(TICKS_PER_MICROSECOND);
        request.step.decide_first(request.first.map(whole), now)
    }
}

/// The decision on a record, with the value to return to the caller.
pub(super) enum ItemUpdate<R> {
    /// The record stays as it is.
    Keep(R),
    /// The first instant replaces the record. The bucket is full at the second instant, or when the
    /// lifetime is over.
    Write(R, Timestamp, Timestamp, Lifetime),
}

pub(super) struct ItemChange<'a, R, F> {
    key: &'a [u8],
    /// The item, as it was last read or written.
    item: Option<Item>,
    /// True if the item was read in this call.
    is_fresh: bool,
    /// True if the last write lost a race, so that the item may have changed since it was read.
    is_outdated: bool,
    seen: Option<i64>,
    lost: u32,
    decide: F,
    progress: Progress<R>,
}

enum Progress<R> {
    /// The next commands are not chosen yet.
    Open,
    /// The command with this number reads the item.
    Reads(u64),
    /// The command with this number writes the item. The value is returned if it succeeds.
    Writes(u64, R),
    /// The result, which is `None` if the item is invalid.
    Done(Option<R>),
}

impl<'a, R, F: Fn(ItemState, Timestamp, u32) -> ItemUpdate<R>> ItemChange<'a, R, F> {
    /// Creates the change of the item `key`. `item` was read in this call if `is_fresh` is true. It
    /// is `None` if there is no item or it is unknown. `decide` receives the record, the current
    /// instant and the number of lost races.
    pub(super) const fn new(
        key: &'a [u8],
        item: Option<Item>,
        is_fresh: bool,
        seen: Option<i64>,
        decide: F,
    ) -> Self {
        Self {
            key,
            item,
            is_fresh,
            is_outdated: false,
            seen,
            lost: 0,
            decide,
            progress: Progress::Open,
        }
    }

    /// Changes only this item, and returns the result; see [`update`] and [`ItemChange::result`].
    pub(super) fn run(
        self,
        connection: &mut Connection,
        patience: Timestamp,
    ) -> Result<Option<R>, Cause> {
        let mut changes = [self];
        update(connection, &mut changes, patience)?;
        let [change] = changes;
        Ok(change.result())
    }

    /// Reports whether the change has a result.
    pub(super) const fn is_done(&self) -> bool {
        matches!(self.progress, Progress::Done(_))
    }

    /// Returns the result of a change that is done; `None` if the item is invalid.
    pub(super) fn result(self) -> Option<R> {
        match self.progress {
            Progress::Done(result) => result,
            _ => None,
        }
    }

    /// Adds the next commands to the connection's request, unless the change is done.
    fn encode(&mut self, connection: &mut Connection) -> Result<(), Cause> {
        // Restore a lost record only after a read has shown that it is missing.
        let may_write = self.is_fresh || self.item.is_some() || self.seen.is_none();
        let seen = self.seen.filter(|_| self.is_fresh);
        // Read the clock after the state, so that a denial is true at the instant that it states.
        let record = || ItemState::of(self.item.as_ref(), seen);
        let decide = |(record, now)| ((self.decide)(record, now, self.lost), now);
        self.progress = match (!self.is_outdated).then(|| record().map(decide)) {
            Some(None) if self.is_fresh => Progress::Done(None),
            Some(Some((ItemUpdate::Keep(answer), _))) if self.is_fresh => {
                Progress::Done(Some(answer))
            }
            Some(Some((ItemUpdate::Write(answer, state, full_at, lifetime), now))) if may_write => {
                let item = self.item.as_ref();
                let full_at = full_at.max(state.saturating_add(lifetime.ticks()));
                let life = life(full_at, now, item.map_or(0, |item| item.left));
                let (value, version) = (record::format(state, now), item.map(|item| item.cas));
                let life = (life, lifetime.to_flags());
                let number = connection.encode_write(self.key, value.as_bytes(), life, version)?;
                Progress::Writes(number, answer)
            }
            _ => Progress::Reads(connection.encode_read(self.key)?),
        };
        Ok(())
    }

    /// Receives the replies to the commands that were sent.
    fn receive(&mut self, connection: &mut Connection) -> Result<(), Cause> {
        match std::mem::replace(&mut self.progress, Progress::Open) {
            Progress::Writes(number, answer) => {
                let (written, item) = connection.receive_write(self.key, number)?;
                if written {
                    self.progress = Progress::Done(Some(answer));
                }
                self.item = item;
                self.is_outdated = !written;
                self.lost += u32::from(!written);
            }
            Progress::Reads(number) => {
                self.item = connection.receive_read(self.key, number)?;
                self.is_outdated = false;
            }
            other => self.progress = other,
        }
        self.is_fresh = true;
        Ok(())
    }
}

/// Changes items of one server. After the instant `patience`, items are not read again after a lost
/// race. Fails if the server fails. It is then unknown whether changes that are not done were made.
pub(super) fn update<R, F: Fn(ItemState, Timestamp, u32) -> ItemUpdate<R>>(
    connection: &mut Connection,
    changes: &mut [ItemChange<'_, R, F>],
    patience: Timestamp,
) -> Result<(), Cause> {
    while !send(connection, changes)? {
        receive(connection, changes, patience)?;
    }
    Ok(())
}

/// Sends the next commands of all items, and does not wait for the replies. Returns true if nothing
/// remains to be done.
pub(super) fn send<R, F: Fn(ItemState, Timestamp, u32) -> ItemUpdate<R>>(
    connection: &mut Connection,
    changes: &mut [ItemChange<'_, R, F>],
) -> Result<bool, Cause> {
    for change in changes.iter_mut().filter(|change| !change.is_done()) {
        change.encode(connection)?;
    }
    let is_done = changes.iter().all(ItemChange::is_done);
    if !is_done {
        connection.send()?;
    }
    Ok(is_done)
}

/// Reads the replies to the commands of the last [`send`], which must be followed by another one.
pub(super) fn receive<R, F: Fn(ItemState, Timestamp, u32) -> ItemUpdate<R>>(
    connection: &mut Connection,
    changes: &mut [ItemChange<'_, R, F>],
    patience: Timestamp,
) -> Result<(), Cause> {
    for change in changes.iter_mut() {
        change.receive(connection)?;
    }
    let losers = changes.iter().filter(|change| change.is_outdated);
    let most = losers.map(|change| change.lost).max();
    let reads_again = most.is_some_and(pause) && !is_over(patience);
    for change in changes.iter_mut() {
        change.is_outdated &= reads_again;
    }
    Ok(())
}
