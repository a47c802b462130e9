//! The memory on which the protocol of permits runs. [`super::protocol`] explains cells and groups.

use super::points::PermitVariant;
use super::word::Owner;
use crate::slots::counters::Event;
use crate::slots::protocol::AtomicWord;
use crate::slots::word::{Fingerprint, Word};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire};

pub const GROUP: u16 = 4;

/// The cells of one key, and the process that calls.
pub trait Cells {
    /// The variant of the protocol that runs on these cells.
    type Variant: PermitVariant;

    fn fingerprint(&self) -> Fingerprint;
    /// Returns the slots in which the cells of this group may be.
    fn group(&self, number: u16) -> impl Group;
    /// Returns the number of the process that calls.
    fn owner(&self) -> Owner;
    /// Returns a number that the process has not used recently in a word.
    fn ticket(&self) -> u64;
    /// Asks the kernel whether another process is alive.
    fn is_alive(&self, owner: Owner) -> bool;
    fn count(&self, event: Event);
    /// Executes a memory fence.
    fn fence(&self, order: Ordering);
    /// Waits between two tries. `tries` is the number of earlier tries of this call.
    fn pause(&self, tries: u32);
}

/// The slots in which the cells of one group may be: two lines.
#[allow(clippy::len_without_is_empty)]
pub trait Group {
    /// Returns the number of slots. The lower half is one line, and the upper half is another.
    fn len(&self) -> usize;
    fn slot(&self, index: usize) -> impl AtomicWord;
    /// Returns the number of this slot among all slots.
    fn place(&self, index: usize) -> usize;
}

/// A permit that a process holds. A copy in a forked child is inert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// The number of its slot among all slots.
    pub place: usize,
    /// The word that the process has written there.
    pub word: Word,
}

pub(super) enum Try {
    Taken(Permit),
    /// Another process won a race.
    Lost,
    /// A cell is free, but no slot is available for it.
    NoSlot,
    /// Live owners hold all cells.
    AllHeld,
}

/// The owners about which the kernel was asked in one round.
pub(super) struct Owners<'c, C> {
    cells: &'c C,
    dead: BTreeMap<Owner, bool>,
}

impl<'c, C: Cells> Owners<'c, C> {
    pub const fn new(cells: &'c C) -> Self {
        Self {
            cells,
            dead: BTreeMap::new(),
        }
    }

    /// Reports whether a process is dead. Asks the kernel once for each process.
    pub fn is_dead(&mut self, owner: Owner) -> bool {
        // The kernel does not report the locks of the process that asks, so this process would look
        // dead.
        owner != self.cells.owner()
            && *self
                .dead
                .entry(owner)
                .or_insert_with(|| !self.cells.is_alive(owner))
    }
}

pub(super) fn load(slot: impl AtomicWord) -> Word {
    // Acquire: orders this read before all later reads and before the questions to the kernel.
    slot.load(Acquire)
}

pub(super) fn swap(slot: impl AtomicWord, old: Word, new: Word) -> bool {
    // AcqRel: a process that sees a hold also sees all that the holder did before it, above all its
    // lock. The holder's work comes after the swap that takes the permit, and before the swap that
    // releases it.
    slot.swap(old, new, AcqRel, Acquire)
}
