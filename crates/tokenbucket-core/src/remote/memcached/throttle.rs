//! Buckets as ext-memcache keeps arrays, under a lock that its users hold while they change one.
//!
//! Who was here first locks by adding an item, `1`, then reads, writes without comparing, and deletes the
//! item. What is written meanwhile by anybody else is lost. So whoever writes here is inside of that lock as
//! well; but several of ours may be inside at once, for between them the compare-and-swap decides, and one
//! that was killed inside delays none of ours:
//!
//! ```text
//! lock       means                           entering makes it      one of theirs then
//! none       nobody is inside                1000                   stays outside
//! n × 1000   ours are, or were killed there  (n + 1) × 1000         stays outside
//! … + 1      one of theirs is                one that is waited for is inside
//! ```
//!
//! Leaving deletes the lock if nobody entered since; the last who entered thus unlocks for all. One who is
//! still inside then loses the swap to the one who left, enters again, and so does no harm.
//!
//! A decision is two round trips: enter and read, write and leave. For one of theirs it is waited for no
//! longer than half the deadline: who died inside, or locks without heeding the lock, delays nobody more.

use super::wire::{Connection, Found};
use super::{LONGER, Memcached, is_over, pause};
use crate::clock::{BootClock, Clock, Ticks, wall_clock};
use crate::record::serialized_bucket::{Bucket, Throttle};
use crate::remote::failure::Cause;
use memcache::exp::{MetaCommand, MetaOp};
use std::time::Duration;

/// ext-memcache's client flags of a serialised value, not compressed.
const SERIALIZED: i64 = 1;
/// Seconds until a lock is none any more.
const LOCK_LIFE: u32 = 15;
/// What each of ours adds to the lock.
const OURS: u64 = 1000;
/// Between two looks at a lock of theirs.
const NAP: Duration = Duration::from_micros(500);
/// Times to live beyond that are taken for instants: none is better.
const LONGEST_LIFE: u64 = 30 * 86_400;

/// The items of a bucket.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    /// Of its record.
    pub record: &'a [u8],
    /// Of its lock.
    pub lock: &'a [u8],
}

/// What came of a try, with every reply read.
enum Decided {
    Granted,
    Denied,
    /// The record is no bucket.
    Foreign,
}

/// The way to both items, which may be on two servers.
struct Way<'a> {
    memcached: &'a Memcached,
    items: Items<'a>,
    record: Connection,
    /// `None` where one server has both.
    lock: Option<Connection>,
}

/// One of ours inside the lock, and what it found.
struct Inside {
    /// Whether one of theirs is inside as well.
    theirs: bool,
    /// The lock's version, while it is only ours.
    lock: i64,
    found: Found,
}

impl Memcached {
    /// Takes a token of a bucket: whether it was there. A call that others are faster than, again and again, is
    /// denied in time for the reply to be read: nobody but the bucket's own client is in its way.
    ///
    /// # Errors
    /// When a server did not answer; [`Cause::Record`] when the record is no bucket. It is left alone then.
    pub fn throttle(
        &self,
        items: Items<'_>,
        throttle: &Throttle,
        deadline: Ticks,
    ) -> Result<bool, Cause> {
        let mut way = Way::open(self, items, deadline)?;
        let decided = way.decide(throttle, deadline)?;
        way.close();
        match decided {
            Decided::Granted => Ok(true),
            Decided::Denied => Ok(false),
            Decided::Foreign => Err(Cause::Record),
        }
    }
}

impl<'a> Way<'a> {
    fn open(memcached: &'a Memcached, items: Items<'a>, deadline: Ticks) -> Result<Self, Cause> {
        let place = |key| memcached.place(key);
        let is_apart = place(items.record) != place(items.lock);
        let lock = is_apart.then(|| memcached.connection(items.lock, deadline));
        Ok(Self {
            memcached,
            items,
            lock: lock.transpose()?,
            record: memcached.connection(items.record, deadline)?,
        })
    }

    /// Keeps the connections: every reply has been read.
    fn close(self) {
        self.memcached.keep(self.items.record, self.record);
        if let Some(lock) = self.lock {
            self.memcached.keep(self.items.lock, lock);
        }
    }

    fn decide(&mut self, throttle: &Throttle, deadline: Ticks) -> Result<Decided, Cause> {
        let begun = BootClock.now();
        let quarter = deadline.saturating_sub(begun) / 4;
        let (patience, last) = (begun + 2 * quarter, begun + 3 * quarter);
        for tries in 1.. {
            let mut inside = self.enter()?;
            while inside.theirs && !is_over(patience) {
                std::thread::sleep(NAP);
                inside = self.enter()?;
            }
            let Ok(found) = bucket(&inside.found) else {
                self.leave(&inside, None)?;
                return Ok(Decided::Foreign);
            };
            let (granted, after) = throttle.take(found, wall_milliseconds());
            let unchanged = found == Some(after);
            let life = throttle.life().saturating_add(LONGER);
            let write = (!unchanged).then(|| self.write(&inside.found, &after, life));
            if self.leave(&inside, write)? {
                return Ok(if granted {
                    Decided::Granted
                } else {
                    Decided::Denied
                });
            }
            if is_over(last) {
                break;
            }
            pause(tries.min(6));
        }
        Ok(Decided::Denied)
    }

    /// Enters the lock, and reads the record inside.
    fn enter(&mut self) -> Result<Inside, Cause> {
        let enter = MetaCommand::new(MetaOp::Arithmetic, self.items.lock)
            .flag(format!("N{LOCK_LIFE}"))
            .flag(format!("J{OURS}"))
            .flag(format!("D{OURS}"))
            .flag("v")
            .flag("c");
        let read = MetaCommand::new(MetaOp::Get, self.items.record)
            .flag("v")
            .flag("f")
            .flag("c");
        let found = if let Some(lock) = &mut self.lock {
            let mut both = lock.exchange([enter])?;
            both.extend(self.record.exchange([read])?);
            both
        } else {
            self.record.exchange([enter, read])?
        };
        let [entered, found] =
            <[Found; 2]>::try_from(found).map_err(|_| Cause::Answer("two replies are expected"))?;
        let count = entered.value.as_deref().and_then(|value| {
            let text = std::str::from_utf8(value.trim_ascii_end()).ok()?;
            text.parse::<u64>().ok()
        });
        Ok(Inside {
            theirs: count.is_none_or(|count| count % OURS != 0),
            lock: entered.number(b'c').unwrap_or(0),
            found,
        })
    }

    /// Leaves the lock after a last write. Whether that, if there is one, was done.
    fn leave(&mut self, inside: &Inside, write: Option<MetaCommand>) -> Result<bool, Cause> {
        let writes = write.is_some();
        // Theirs is deleted by them.
        let leave = (!inside.theirs).then(|| {
            MetaCommand::new(MetaOp::Delete, self.items.lock).flag(format!("C{}", inside.lock))
        });
        let found = if let Some(lock) = &mut self.lock {
            let found = self.record.exchange(write)?;
            lock.exchange(leave)?;
            found
        } else {
            self.record.exchange(write.into_iter().chain(leave))?
        };
        Ok(!writes || found.first().is_some_and(Found::is_done))
    }

    /// Writes a bucket over what was found, if it is still that.
    fn write(&self, found: &Found, after: &Bucket, life: u64) -> MetaCommand {
        let condition = match found.number(b'c') {
            Some(cas) => format!("C{cas}"),
            None => "ME".to_owned(),
        };
        let life = if life > LONGEST_LIFE { 0 } else { life };
        MetaCommand::new(MetaOp::Set, self.items.record)
            .flag(condition)
            .flag(format!("F{SERIALIZED}"))
            .flag(format!("T{life}"))
            .value(after.print())
    }
}

/// The bucket that was found, if any.
fn bucket(found: &Found) -> Result<Option<Bucket>, Cause> {
    if found.is_missing() {
        return Ok(None);
    }
    let is_serialized = found.number(b'f') == Some(SERIALIZED);
    let value = found.value.as_deref().filter(|_| is_serialized);
    value.and_then(Bucket::parse).map(Some).ok_or(Cause::Record)
}

/// This host's wall clock, in milliseconds.
fn wall_milliseconds() -> i64 {
    // Below 2^53 for an age.
    i64::try_from(wall_clock().as_millis()).unwrap_or(0)
}
