//! Buckets in the arrays that ext-memcache writes. A call changes them under a lock in memcached.
//!
//! "The other library" is the PHP code that also writes these records. To lock, that code adds an
//! item with the value `1`. Then that code reads, writes without comparing, and deletes the lock.
//! That code overwrites any change that is made meanwhile, so our calls also write only inside the
//! lock. Several of our calls may be inside at once, because the compare-and-swap decides between
//! these calls. A worker of ours that was killed inside the lock does not delay our other calls:
//!
//! ```text
//! lock       meaning                           value after we enter   the other library then
//! missing    free                              1000                   stays outside
//! n × 1000   n of our calls entered, some of   (n + 1) × 1000         stays outside
//!            them perhaps in killed workers
//! … + 1      the other library is inside       … + 1001, and we wait  is inside
//! ```
//!
//! A call that leaves deletes the lock if no other call has entered since. So the last call to
//! enter unlocks for all. A call that is still inside then loses the swap to the call that left,
//! and enters again.
//!
//! A decision takes two round trips. The first round trip enters the lock and reads the record. The
//! second round trip writes the record and leaves the lock. A call waits for the other library for
//! at most half of the time to the deadline. The wait is limited because the process of the other
//! library may have died inside the lock, or may not use the lock at all.

mod bucket;

use crate::{Wait, minutes};
pub use bucket::{SerializedBucket, Throttle};
use gcra::{TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use std::sync::Arc;
use std::time::Duration;
use stores::remote::back_off::{is_over, pause};
use stores::remote::memcached::wire::{Connection, MetaCommand, MetaOp, MetaReply};
use stores::remote::memcached::{self, wall_ticks};
use stores::remote::{Cause, Memcached, Visit};

/// The client flags of ext-memcache for a serialised value that is not compressed.
const SERIALIZED: i64 = 1;
/// The time to live of a lock, in seconds.
const LOCK_LIFE: u32 = 15;
/// The number that each of our calls adds to the lock.
const OURS: u64 = 1000;
/// The pause between two checks of a lock that the other library holds.
const NAP: Duration = Duration::from_micros(500);
const MILLISECOND: Ticks = TICKS_PER_SECOND / 1000;

/// The suffix of a lock's key, after the record's key.
const LOCK: &[u8] = b"_lock";

/// Returns the key under which the server keeps the record of the bucket `key`.
pub fn record(memcached: &Memcached, key: &[u8]) -> Vec<u8> {
    memcached.shared_key(key, LOCK.len())
}

/// Takes a token from the bucket `key`. Returns the wait until the bucket holds one. A call that
/// loses every race is denied, early enough to read all replies before the deadline. Only calls of
/// the same client race with each other. Fails with [`Cause::Record`] if the record is not a
/// bucket. The record is then left unchanged. Fails with any other [`Cause`] if a server did not
/// reply in time.
pub fn take(visit: &Visit<'_, Memcached>, key: &[u8], throttle: &Throttle) -> Result<Wait, Cause> {
    let (memcached, deadline) = (visit.store, visit.deadline);
    let keys = Keys {
        record: &record(memcached, key),
        lock: &memcached.shared_key(&[key, LOCK].concat(), 0),
    };
    let place = memcached.node(keys.lock);
    let is_apart = !Arc::ptr_eq(&visit.route, place);
    let decide = |record: &mut _, lock: Option<&mut _>| {
        let mut way = Way { keys, record, lock };
        way.decide(throttle, deadline)
    };
    let wait = visit.route.with(deadline, |record| {
        if is_apart {
            place.with(deadline, |lock| decide(record, Some(lock)))
        } else {
            decide(record, None)
        }
    })?;
    wait.ok_or(Cause::Record)
}

/// The keys of a bucket's items.
#[derive(Clone, Copy)]
struct Keys<'a> {
    record: &'a [u8],
    lock: &'a [u8],
}

/// The connections to the servers of both items.
struct Way<'a> {
    keys: Keys<'a>,
    record: &'a mut Connection,
    /// `None` if both items are on one server.
    lock: Option<&'a mut Connection>,
}

/// A call inside the lock, and the record that it read.
struct Inside {
    /// True if the other library is inside, too.
    theirs: bool,
    /// The lock's version, valid while only our calls are inside.
    lock: i64,
    found: MetaReply,
}

impl Way<'_> {
    /// Returns the wait, or `None` if the record is not a bucket. All replies have been read
    /// when this returns.
    fn decide(&mut self, throttle: &Throttle, deadline: Timestamp) -> Result<Option<Wait>, Cause> {
        let begun = boot_clock();
        let quarter = deadline.saturating_since(begun) / 4;
        let (patience, last) = (begun + 2 * quarter, begun + 3 * quarter);
        for tries in 1.. {
            let mut inside = self.enter()?;
            while inside.theirs && !is_over(patience) {
                std::thread::sleep(NAP);
                inside = self.enter()?;
            }
            let Ok(found) = bucket(&inside.found) else {
                self.leave(&inside, None)?;
                return Ok(None);
            };
            let now = wall_ticks();
            // The milliseconds since the epoch stay below 2^53 for 285,000 years.
            let instant = (now.0 / MILLISECOND).cast_signed();
            let (granted, after) = throttle.take(found, instant);
            let until = now.saturating_add(throttle.life().saturating_mul(TICKS_PER_SECOND));
            let life = memcached::life(until, now, 0);
            let changes = found != Some(after);
            let write = changes.then(|| self.write(&inside.found, &after, life));
            if self.leave(&inside, write)? {
                let wait = throttle.retry_after(&after, instant);
                let wait = wait.map(|wait| Wait::denied(wait.saturating_mul(MILLISECOND)));
                let denied = wait.unwrap_or(Wait::NEVER);
                return Ok(Some(if granted { Wait::NONE } else { denied }));
            }
            if is_over(last) {
                break;
            }
            pause(tries);
        }
        Ok(Some(Wait::denied(MILLISECOND)))
    }

    /// Enters the lock and reads the record.
    fn enter(&mut self) -> Result<Inside, Cause> {
        let enter = MetaCommand::new(MetaOp::Arithmetic, self.keys.lock)
            .flag(format!("N{LOCK_LIFE} J{OURS} D{OURS} v c"));
        let read = MetaCommand::new(MetaOp::Get, self.keys.record).flag("v f c");
        let found = if let Some(lock) = &mut self.lock {
            let mut both = lock.exchange([enter])?;
            both.extend(self.record.exchange([read])?);
            both
        } else {
            self.record.exchange([enter, read])?
        };
        let [entered, found] = <[MetaReply; 2]>::try_from(found)
            .map_err(|_| Cause::Answer("two replies are expected"))?;
        let count = entered.value.as_deref().and_then(minutes::parse);
        Ok(Inside {
            theirs: count.is_none_or(|count| count % OURS != 0),
            lock: entered.number(b'c').unwrap_or(0),
            found,
        })
    }

    /// Sends `write`, if there is one, and leaves the lock. Returns false if the server refused the
    /// write.
    fn leave(&mut self, inside: &Inside, write: Option<MetaCommand>) -> Result<bool, Cause> {
        let writes = write.is_some();
        // The other library deletes its own lock.
        let leave = (!inside.theirs).then(|| {
            MetaCommand::new(MetaOp::Delete, self.keys.lock).flag(format!("C{}", inside.lock))
        });
        let found = if let Some(lock) = &mut self.lock {
            let found = self.record.exchange(write)?;
            lock.exchange(leave)?;
            found
        } else {
            self.record.exchange(write.into_iter().chain(leave))?
        };
        Ok(!writes || found.first().is_some_and(MetaReply::is_done))
    }

    /// Returns the command that writes a bucket if the record has not changed since it was read.
    fn write(&self, found: &MetaReply, after: &SerializedBucket, life: i64) -> MetaCommand {
        let condition = match found.number(b'c') {
            Some(cas) => format!("C{cas}"),
            None => "ME".to_owned(),
        };
        MetaCommand::new(MetaOp::Set, self.keys.record)
            .flag(format!("{condition} F{SERIALIZED} T{life}"))
            .value(after.print())
    }
}

/// Returns the bucket that was found, or `None` if there is no record. Fails with
/// [`Cause::Record`] if the item is not a bucket.
fn bucket(found: &MetaReply) -> Result<Option<SerializedBucket>, Cause> {
    if found.is_missing() {
        return Ok(None);
    }
    let is_serialized = found.number(b'f') == Some(SERIALIZED);
    let value = found.value.as_deref().filter(|_| is_serialized);
    value
        .and_then(SerializedBucket::parse)
        .map(Some)
        .ok_or(Cause::Record)
}
