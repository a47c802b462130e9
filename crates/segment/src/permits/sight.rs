//! Reads the cells of a key.

use super::cells::{Cells, GROUP, Group, Permit, Try, load, swap};
use super::points::{PermitPoint, PermitVariant};
use super::word::{self, Tag};
use crate::slots::word::Word;

/// One cell as a read has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    pub cell: u16,
    /// The slot of the group in which the word was.
    pub index: usize,
    /// [`Word::EMPTY`] if no slot holds the cell or is claimed for it.
    pub word: Word,
}

impl Sight {
    /// Reports whether the cell is in no slot, or only claimed.
    pub fn is_unborn(&self) -> bool {
        self.word == Word::EMPTY || word::is_claimed(self.word)
    }

    pub fn is_free(&self) -> bool {
        self.is_unborn() || word::is_free(self.word)
    }

    pub const fn group(&self) -> u16 {
        self.cell / GROUP
    }
}

/// The cells that one pass over the slots of a key has seen.
pub(super) struct Glance {
    /// A cell that is free in its slot.
    pub free: Option<Sight>,
    /// The number of held cells, also of those that dead processes hold.
    pub held: u16,
}

/// Reads each slot of the key once. This is faster than [`look`], because it does not look for the
/// slot of each cell. The first slot depends on the process, so that processes do not compete for
/// one cell.
#[inline]
// The remainder is below `groups`.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn glance<C: Cells>(cells: &C, limit: u16) -> Glance {
    let groups = limit.div_ceil(GROUP);
    let owner = cells.owner().number();
    let first = (owner % u64::from(groups)) as u16;
    let mut seen = Glance {
        free: None,
        held: 0,
    };
    for number in first..first + groups {
        let number = number.checked_sub(groups).unwrap_or(number);
        let group = cells.group(number);
        let tag = Tag::new(cells.fingerprint(), number * GROUP);
        for turn in 0..group.len() {
            let index = (turn + owner as usize) % group.len();
            let word = load(group.slot(index));
            let cell = word::cell(word);
            if !tag.shares_group(word) || word::is_claimed(word) || cell >= limit {
                continue;
            }
            if word::is_free(word) {
                seen.free = seen.free.or(Some(Sight { cell, index, word }));
            } else {
                seen.held += 1;
            }
        }
        C::Variant::reached(PermitPoint::GroupRead);
    }
    seen
}

pub(super) fn read<C: Cells>(cells: &C, limit: u16) -> Vec<Sight> {
    let mut seen = Vec::with_capacity(usize::from(limit));
    look(cells, limit, |sight| seen.push(sight));
    seen
}

/// Calls `visit` with each cell below `limit`. The first cell depends on the process, so that
/// processes do not compete for one cell.
#[inline]
// The remainder is below `limit`.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn look<C: Cells>(cells: &C, limit: u16, mut visit: impl FnMut(Sight)) {
    let start = (cells.owner().number() % u64::from(limit)) as u16;
    let groups = limit.div_ceil(GROUP);
    for number in (start / GROUP..groups).chain(0..start / GROUP) {
        let sights = sights(cells, number);
        C::Variant::reached(PermitPoint::GroupRead);
        for turn in start..start + GROUP {
            let sight = sights[usize::from(turn % GROUP)];
            if sight.cell < limit {
                visit(sight);
            }
        }
    }
}

#[inline]
fn sights<C: Cells>(cells: &C, number: u16) -> [Sight; GROUP as usize] {
    let mut sights = [0, 1, 2, 3].map(|cell| Sight {
        cell: number * GROUP + cell,
        index: 0,
        word: Word::EMPTY,
    });
    let group = cells.group(number);
    for index in 0..group.len() {
        let word = load(group.slot(index));
        let cell = word::cell(word);
        // Another group of the key may use the same line.
        if !word.is_of(cells.fingerprint()) || cell / GROUP != number {
            continue;
        }
        let sight = &mut sights[usize::from(cell % GROUP)];
        // A cell and a claim for it may be in two slots. Then the claimant will give way.
        if sight.word == Word::EMPTY || (sight.is_unborn() && !word::is_claimed(word)) {
            (sight.index, sight.word) = (index, word);
        }
    }
    sights
}

/// Replaces the word that was seen by a hold of this process.
#[inline]
pub(super) fn replace<C: Cells>(cells: &C, sight: &Sight, held: Word) -> Try {
    let group = cells.group(sight.group());
    if !swap(group.slot(sight.index), sight.word, held) {
        return Try::Lost;
    }
    C::Variant::reached(PermitPoint::Taken);
    Try::Taken(Permit {
        place: group.place(sight.index),
        word: held,
    })
}
