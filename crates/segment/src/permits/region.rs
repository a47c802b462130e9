//! The region of a segment that holds permits. The cells of a group may use two lines of it.

use super::process::{Numbers, Process, Unavailable};
use super::protocol::{self, Acquired, Cells, GROUP, Group, Permit, PermitVariant, Refusal};
use super::word::{self, Owner};
use crate::memory::{Region, Segment};
use crate::slots::counters::{Counters, Event, ROWS, Rows};
use crate::slots::protocol::{AtomicWord, Production};
use crate::slots::table::{self, Line, SLOTS_PER_LINE};
use crate::slots::word::{Fingerprint, Word};
use gcra::{Key, Row};
use portable_atomic::AtomicU128;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{self, Relaxed};

/// The greatest limit of a key.
pub const MAX_LIMIT: u16 = 1024;
/// The least number of lines, for 4,096 permits. If each key has four or more held permits, the
/// first call finds no slot when a tenth of all slots hold a permit. If each key has one, this
/// happens when half of all slots hold a permit.
const LEAST_LINES: usize = 1024;

/// Returns the number of lines for permits in a segment with this many lines of buckets.
pub(crate) const fn lines(of_buckets: usize) -> usize {
    let share = of_buckets / 64;
    if share < LEAST_LINES {
        LEAST_LINES
    } else {
        share
    }
}

/// The row of counters of a permit's key, in the lowest bits of a byte, and [`WAITING`]. Any byte
/// is valid.
#[derive(Debug)]
pub struct RowOfPermit(AtomicU8);

/// The bit of a [`RowOfPermit`] whose permit is the place of a caller that waits.
const WAITING: u8 = 1 << 7;
const _: () = assert!(ROWS <= WAITING as usize);

/// Returns the number of slots for permits in a segment with this many lines of buckets.
pub(crate) const fn slots(of_buckets: usize) -> usize {
    lines(of_buckets) * SLOTS_PER_LINE
}

/// The permits of a host. `V` is the variant of the protocol: [`Production`], except in tests.
#[derive(Debug)]
pub struct Permits<'h, V = Production> {
    pub(crate) lines: &'h Region<Line>,
    /// The row of the permit in each slot of `lines`, for reports. No decision depends on it.
    pub(crate) rows: &'h Region<RowOfPermit>,
    pub(crate) numbers: &'h Numbers,
    pub(crate) process: &'h Process,
    pub(crate) segment: &'h Segment,
    pub(crate) counters: &'h Counters,
    pub(crate) variant: PhantomData<V>,
}

impl<V: PermitVariant> Permits<'_, V> {
    /// Takes one of the `limit` permits of `key`. Clamps `limit` to the range from 1 to
    /// [`MAX_LIMIT`]. The first call of a process draws and locks its number.
    #[inline]
    pub fn acquire(&self, key: Key<'_>, limit: u16) -> Result<Acquired, Refusal> {
        self.acquire_noted(key, limit, byte(key.row))
    }

    /// Takes one of the `limit` permits of `key`, if `leave` others stay free. Clamps `limit` as
    /// [`Permits::acquire`] does, and `leave` to less than it.
    pub fn acquire_leaving(
        &self,
        key: Key<'_>,
        limit: u16,
        leave: u16,
    ) -> Result<Acquired, Refusal> {
        if leave == 0 {
            return self.acquire(key, limit);
        }
        let entered = self.entered(key).map_err(|_| Refusal::Unavailable)?;
        let limit = cut(limit);
        let acquired = protocol::acquire_leaving(&entered, limit, leave.min(limit - 1))?;
        Ok(self.noted(acquired, byte(key.row)))
    }

    /// Takes one of the `most` places of callers that wait for a permit of `key`. A place is a
    /// permit of another key, so it ends with its process, too. No identifier can be chosen to have
    /// the inverted hash, because hashes are keyed with a secret. Reports count no places.
    pub fn acquire_place(&self, key: Key<'_>, most: u16) -> Result<Acquired, Refusal> {
        let places = Key {
            hash: !key.hash,
            ..key
        };
        let acquired = self.acquire_noted(places, most, byte(key.row) | WAITING);
        acquired.map_err(|refusal| match refusal {
            Refusal::TooMany => Refusal::TooManyWaiting,
            other => other,
        })
    }

    #[inline]
    fn acquire_noted(&self, key: Key<'_>, limit: u16, note: u8) -> Result<Acquired, Refusal> {
        let entered = self.entered(key).map_err(|_| Refusal::Unavailable)?;
        let acquired = protocol::acquire(&entered, cut(limit))?;
        Ok(self.noted(acquired, note))
    }

    /// Takes a permit if one pass over the words sees a free one. Does not ask the kernel, so the
    /// permits of dead processes are not found. Returns `None` if it takes none.
    pub fn try_words(&self, key: Key<'_>, limit: u16) -> Option<Acquired> {
        let acquired = protocol::try_words(&self.entered(key).ok()?, cut(limit))?;
        Some(self.noted(acquired, byte(key.row)))
    }

    /// Writes down the row of a permit that was acquired. Until then, a report counts the permit in
    /// the row of the previous permit in this slot.
    #[inline]
    fn noted(&self, acquired: Acquired, note: u8) -> Acquired {
        if let Some(RowOfPermit(noted)) = self.rows.get(acquired.permit.place) {
            noted.store(note, Relaxed);
        }
        acquired
    }

    /// Gives a permit back. Returns `false` if this process does not hold it any more, and counts
    /// that unless this process is a child of the holder.
    #[inline]
    pub fn release(&self, permit: Permit) -> bool {
        let Some(slot) = self.own(permit) else {
            return false;
        };
        let is_released = protocol::release::<V>(slot, permit.word);
        if !is_released {
            self.process.doubt();
            self.count(Event::PermitForeign);
        }
        is_released
    }

    /// Makes the next call that takes a permit lock the number of this process again, because other
    /// code of the process may have dropped the lock.
    pub fn doubt_lock(&self) {
        self.process.doubt();
    }

    /// Reports whether this process holds the permit.
    pub fn holds(&self, permit: Permit) -> bool {
        let slot = self.own(permit);
        slot.is_some_and(|slot| protocol::holds(slot, permit.word))
    }

    /// Makes sure of this process's lock, and replaces the permit by an equal one. Returns `false`
    /// if this process does not hold the permit, or cannot lock its number.
    pub fn renew(&self, permit: &mut Permit) -> bool {
        let Some(slot) = self.own(*permit) else {
            return false;
        };
        let number = word::owner(permit.word).number();
        if self.segment.lock(number) != Ok(true) {
            return false;
        }
        let renewed = protocol::renew(slot, permit.word, self.process.ticket());
        permit.word = renewed.unwrap_or(permit.word);
        renewed.is_some()
    }

    /// Returns the number of permits of `key` below `limit` that live processes hold.
    pub fn held(&self, key: Key<'_>, limit: u16) -> usize {
        protocol::held(&self.of(key, self.owner()), cut(limit))
    }

    /// Returns the number of permits of all keys that live processes hold, by the rows of the keys.
    /// Reads the pages that were ever written.
    pub fn held_by_row(&self) -> Rows<usize> {
        let mut alive = BTreeMap::new();
        let mut is_held = |word: Word| {
            let owner = word::owner(word);
            !word::is_claimed(word)
                && !word::is_free(word)
                && *alive
                    .entry(owner)
                    .or_insert_with(|| self.owner() == owner || self.is_alive(owner))
        };
        let mut held = Rows::default();
        for line in self.segment.written(self.lines).flatten() {
            for (index, slot) in self.lines[line].0.iter().enumerate() {
                if is_held(Word::from(slot.load(Relaxed))) {
                    let RowOfPermit(noted) = &self.rows[line * SLOTS_PER_LINE + index];
                    let note = noted.load(Relaxed);
                    if note & WAITING == 0 {
                        held[Row(note.into())] += 1;
                    }
                }
            }
        }
        held
    }

    /// Checks that this process can hold permits. Draws and locks its number if necessary. Fails
    /// with the reason if this process cannot hold permits.
    pub fn check(&self) -> Result<(), Unavailable> {
        let owner = self.process.enter::<V>(self.numbers, self.segment);
        owner.map(|_| ())
    }

    fn count(&self, event: Event) {
        self.counters.shard().1.count(event);
    }

    fn owner(&self) -> Owner {
        self.process.owner().unwrap_or(Owner::NONE)
    }

    /// Returns the slot of a permit that this process itself has taken. Returns `None` if a process
    /// took it from which this one was forked.
    #[inline]
    fn own(&self, permit: Permit) -> Option<&AtomicU128> {
        let is_own = self.process.owner() == Some(word::owner(permit.word));
        let line = self.lines.get(permit.place / SLOTS_PER_LINE);
        line.filter(|_| is_own)
            .map(|line| &line.0[permit.place % SLOTS_PER_LINE])
    }

    #[inline]
    fn entered(&self, key: Key<'_>) -> Result<OfKey<'_, V>, Unavailable> {
        let owner = self.process.enter::<V>(self.numbers, self.segment)?;
        Ok(self.of(key, owner))
    }

    #[inline]
    // The cast takes a part of the hash.
    #[allow(clippy::cast_possible_truncation)]
    fn of(&self, key: Key<'_>, owner: Owner) -> OfKey<'_, V> {
        OfKey {
            permits: self,
            fingerprint: Fingerprint::new(key.hash as u64),
            first: table::two_lines(key.hash, self.lines.len()),
            owner,
        }
    }

    fn is_alive(&self, owner: Owner) -> bool {
        // If the kernel does not answer, the owner counts as alive, so that holders never exceed
        // the limit.
        let locked = self.segment.is_locked_elsewhere(owner.number());
        locked.unwrap_or(true)
    }
}

// There are fewer than 128 rows.
#[allow(clippy::cast_possible_truncation)]
const fn byte(row: Row) -> u8 {
    row.0 as u8
}

/// Returns the limit within its range.
const fn cut(limit: u16) -> u16 {
    match limit {
        0 => 1,
        1..MAX_LIMIT => limit,
        MAX_LIMIT.. => MAX_LIMIT,
    }
}

struct OfKey<'p, V> {
    permits: &'p Permits<'p, V>,
    fingerprint: Fingerprint,
    /// The lines of the first group. The next groups use the next lines. So a line belongs to at
    /// most two groups of a key, and each group has room for two of its cells in each of its lines.
    /// So a key that has the region to itself can use any limit up to [`MAX_LIMIT`].
    first: [usize; 2],
    owner: Owner,
}

impl<V: PermitVariant> Cells for OfKey<'_, V> {
    type Variant = V;

    #[inline]
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    #[inline]
    fn group(&self, number: u16) -> impl Group {
        let lines: &[Line] = self.permits.lines;
        let numbers = self.first.map(|first| {
            // There are more lines than groups.
            let line = first + usize::from(number);
            line.checked_sub(lines.len()).unwrap_or(line)
        });
        TwoLines {
            slots: numbers.map(|number| &lines[number].0),
            numbers,
        }
    }

    #[inline]
    fn owner(&self) -> Owner {
        self.owner
    }

    #[inline]
    fn ticket(&self) -> u64 {
        self.permits.process.ticket()
    }

    fn is_alive(&self, owner: Owner) -> bool {
        self.permits.is_alive(owner)
    }

    fn count(&self, event: Event) {
        self.permits.count(event);
    }

    fn fence(&self, order: Ordering) {
        portable_atomic::fence(order);
    }

    #[cold]
    fn pause(&self, tries: u32) {
        table::pause::<16>(tries);
    }
}

/// The slots of a group.
struct TwoLines<'l> {
    slots: [&'l [AtomicU128; SLOTS_PER_LINE]; 2],
    numbers: [usize; 2],
}

impl Group for TwoLines<'_> {
    #[inline]
    fn len(&self) -> usize {
        2 * SLOTS_PER_LINE
    }

    #[inline]
    fn slot(&self, index: usize) -> impl AtomicWord {
        &self.slots[index / SLOTS_PER_LINE][index % SLOTS_PER_LINE]
    }

    #[inline]
    fn place(&self, index: usize) -> usize {
        self.numbers[index / SLOTS_PER_LINE] * SLOTS_PER_LINE + index % SLOTS_PER_LINE
    }
}

const _: () = assert!(GROUP as usize <= SLOTS_PER_LINE);
