//! Changes items by compare-and-swap, many items in one round trip.
//!
//! Each item is read, decided and written, until its write succeeds or nothing needs to be written.
//! In each round, the next commands of all items are sent in one write.

use super::wire::{Connection, Item};
use super::{clock, life};
use crate::clock::{TICKS_PER_MICROSECOND, Timestamp};
use crate::remote::back_off::{is_over, pause};
use crate::remote::{Ask, Cause, Found, record};
use crate::step::Outcome;
use crate::store::empty_at;

/// The state of a bucket, read from its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The instant at which the bucket was empty; 0 if it was reset or has no record.
    pub(super) empty_at: Timestamp,
    /// True if the record was lost and restored.
    pub(super) healed: bool,
}

impl Record {
    /// Reads the record of `item`, and then the clock. If there is no item, restores the bucket
    /// that was empty `seen` ticks ago. Returns `None` if the item is invalid.
    fn of(item: Option<&Item>, seen: Option<i64>) -> Option<(Self, Timestamp)> {
        let (empty_at, now) = if let Some(item) = item {
            let record = record::parse(&item.value)?;
            (record.empty_at, clock::now(record.written))
        } else {
            let now = clock::now(Timestamp::ZERO);
            let restored = |age| empty_at(now, age).floor(TICKS_PER_MICROSECOND);
            (seen.map_or(Timestamp::ZERO, restored), now)
        };
        let healed = item.is_none() && seen.is_some();
        Some((Self { empty_at, healed }, now))
    }

    pub(super) fn found(self) -> Found {
        match (self.is_absent(), self.healed) {
            (true, _) => Found::Nothing,
            (false, true) => Found::Restored,
            (false, false) => Found::Record,
        }
    }

    pub(super) fn is_absent(self) -> bool {
        self.empty_at == Timestamp::ZERO
    }

    pub(super) fn decide(self, ask: &Ask, now: Timestamp) -> Outcome {
        if !self.is_absent() {
            return ask.step.decide(self.empty_at, now);
        }
        // Round up, because a bucket that was empty later contains less.
        let whole = |age| empty_at(now, age).ceil(TICKS_PER_MICROSECOND);
        ask.step.decide_first(ask.first.map(whole), now)
    }
}

/// The decision on a record, with the value to return to the caller.
pub(super) enum Decision<R> {
    /// The record stays as it is.
    Keep(R),
    /// The first instant replaces the record. The bucket is full at the second instant.
    Write(R, Timestamp, Timestamp),
}

/// A change of one item.
pub(super) struct Change<'a, F> {
    key: &'a [u8],
    /// The item, as it was last read or written.
    item: Option<Item>,
    /// True if the item was read in this call.
    is_fresh: bool,
    /// True if the last write lost a race, so that the item may have changed since it was read.
    is_outdated: bool,
    seen: Option<i64>,
    /// The number of lost races.
    lost: u32,
    decide: F,
}

/// The next operation on an item.
enum Next<R> {
    /// Nothing. The result is `None` if the item is invalid.
    Done(Option<R>),
    /// Read the item.
    Read,
    /// Write this value with this time to live, unless the item has changed.
    Write(R, String, i64),
}

impl<'a, R, F: Fn(Record, Timestamp, u32) -> Decision<R>> Change<'a, F> {
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
        }
    }

    fn next(&self) -> Next<R> {
        if self.is_outdated {
            return Next::Read;
        }
        // Restore a lost record only after a read has shown that it is missing.
        let may_write = self.is_fresh || self.item.is_some() || self.seen.is_none();
        let seen = self.seen.filter(|_| self.is_fresh);
        // Read the clock after the state, so that a denial is true at the instant that it states.
        let record = Record::of(self.item.as_ref(), seen);
        match record.map(|(record, now)| ((self.decide)(record, now, self.lost), now)) {
            None if self.is_fresh => Next::Done(None),
            Some((Decision::Keep(answer), _)) if self.is_fresh => Next::Done(Some(answer)),
            Some((Decision::Write(answer, state, full_at), now)) if may_write => {
                let left = self.item.as_ref().map_or(0, |item| item.left);
                let value = record::format(state, now);
                Next::Write(answer, value, life(full_at, now, left))
            }
            _ => Next::Read,
        }
    }
}

/// Changes items of one server. Passes the result of each change to `done`, with its index. The
/// result is `None` if the item is invalid. After the instant `patience`, items are not read again
/// after a lost race.
///
/// # Errors
/// Fails if the server fails. It is then unknown whether changes without a result were made.
pub(super) fn update<R, F: Fn(Record, Timestamp, u32) -> Decision<R>>(
    connection: &mut Connection,
    changes: &mut [Change<'_, F>],
    patience: Timestamp,
    mut done: impl FnMut(usize, Option<R>),
) -> Result<(), Cause> {
    let mut open: Vec<_> = (0..changes.len()).collect();
    loop {
        let (mut request, mut sent) = (Vec::new(), Vec::new());
        for index in open.drain(..) {
            let change = &changes[index];
            match change.next() {
                Next::Done(answer) => done(index, answer),
                Next::Read => {
                    let number = connection.encode_read(&mut request, change.key)?;
                    sent.push((index, number, None));
                }
                Next::Write(answer, value, life) => {
                    let (key, value) = (change.key, value.as_bytes());
                    let version = change.item.as_ref().map(|item| item.cas);
                    let number =
                        connection.encode_write(&mut request, key, value, life, version)?;
                    sent.push((index, number, Some(answer)));
                }
            }
        }
        if sent.is_empty() {
            return Ok(());
        }
        connection.send(&request)?;
        open = receive(connection, changes, sent, &mut done)?;
        let losers = open.iter().map(|&index| &changes[index]);
        let losers = losers.filter(|change| change.is_outdated);
        let most = losers.map(|change| change.lost).max();
        let reads_again = most.is_some_and(pause) && !is_over(patience);
        for &index in &open {
            changes[index].is_outdated &= reads_again;
        }
    }
}

/// Receives the replies to one round. Returns the indexes of the changes that are not done.
fn receive<R, F: Fn(Record, Timestamp, u32) -> Decision<R>>(
    connection: &mut Connection,
    changes: &mut [Change<'_, F>],
    sent: Vec<(usize, u64, Option<R>)>,
    done: &mut impl FnMut(usize, Option<R>),
) -> Result<Vec<usize>, Cause> {
    let mut open = Vec::new();
    for (index, number, answer) in sent {
        let change = &mut changes[index];
        (change.is_outdated, change.item) = match answer {
            None => (false, connection.receive_read(change.key, number)?),
            answer => {
                let (written, item) = connection.receive_write(change.key, number)?;
                if written {
                    done(index, answer);
                    continue;
                }
                change.lost += 1;
                (true, item)
            }
        };
        change.is_fresh = true;
        open.push(index);
    }
    Ok(open)
}
