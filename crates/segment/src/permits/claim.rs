//! Claims a slot for a cell that is in no slot.

use super::cells::{Cells, GROUP, Group, Owners, Try, load, swap};
use super::points::{PermitPoint, PermitVariant};
use super::sight::{Sight, replace};
use super::word::{self, Tag};
use crate::slots::counters::Event;
use crate::slots::word::Word;
use std::sync::atomic::Ordering::SeqCst;

/// Claims a slot for a cell that is in no slot, and then holds the cell. Asks the kernel about
/// owners only if `owners` is given and no slot is free.
#[cold]
#[inline(never)]
pub(super) fn claim<C: Cells>(cells: &C, cell: u16, owners: Option<&mut Owners<'_, C>>) -> Try {
    let tag = Tag::new(cells.fingerprint(), cell);
    let group = cells.group(cell / GROUP);
    let Some(Survey { found, best }) = survey(&group, tag) else {
        return Try::Lost;
    };
    let dead = || {
        let owners = owners?;
        let mut found = found.iter();
        found.find_map(|&slot| owners.is_dead(word::owner(slot.1)).then_some(slot))
    };
    let Some((index, old)) = best.or_else(dead) else {
        return Try::NoSlot;
    };
    let claim = if tag.names(old) {
        old
    } else {
        let claim = tag.claimed(cells.owner(), cells.ticket());
        C::Variant::reached(PermitPoint::SlotChosen);
        if !swap(group.slot(index), old, claim) {
            return Try::Lost;
        }
        if old != Word::EMPTY && !word::is_claimed(old) && !word::is_free(old) {
            cells.count(Event::PermitTakenBack);
        }
        C::Variant::reached(PermitPoint::SlotClaimed);
        claim
    };
    // Orders the claim before the reads of the other slots. On x86-64 the swap already does that.
    cells.fence(SeqCst);
    if C::Variant::VALIDATE && !validate(&group, tag, (index, claim)) {
        return Try::Lost;
    }
    C::Variant::reached(PermitPoint::SlotValidated);
    let sight = Sight {
        cell,
        index,
        word: claim,
    };
    replace(cells, &sight, tag.held(cells.owner(), cells.ticket()))
}

/// Makes sure that the cell is in no other slot. If another slot holds the cell, or a lower slot is
/// claimed for it, empties its own claim and returns `false`. Empties claims for the cell in higher
/// slots.
fn validate(group: &impl Group, tag: Tag, (mine, claim): (usize, Word)) -> bool {
    for index in (0..group.len()).filter(|&index| index != mine) {
        let word = load(group.slot(index));
        if !tag.names(word) {
            continue;
        }
        let is_above = word::is_claimed(word) && index > mine;
        // If another process has changed the slot meanwhile, reads it again.
        let is_gone =
            || swap(group.slot(index), word, Word::EMPTY) || !tag.names(load(group.slot(index)));
        if !is_above || !is_gone() {
            swap(group.slot(mine), claim, Word::EMPTY);
            return false;
        }
    }
    true
}

/// The index and the word of a slot.
type FoundWord = (usize, Word);

/// The slots of a group.
struct Survey {
    /// The slots that are held, or claimed for another cell.
    found: Vec<FoundWord>,
    /// The slot to claim: a slot that is claimed for the cell already, or a free slot.
    best: Option<FoundWord>,
}

#[derive(Clone, Copy, Default)]
struct Line {
    /// The number of slots that hold other cells of the same group.
    own: u32,
    /// The number of free slots.
    count: u32,
    empty: Option<FoundWord>,
    free: Option<FoundWord>,
}

/// Reads every slot. Returns `None` if one of them holds the cell.
fn survey(group: &impl Group, tag: Tag) -> Option<Survey> {
    let mut claimed = None;
    let mut lines = [Line::default(); 2];
    let mut found = Vec::new();
    for index in 0..group.len() {
        let slot = (index, load(group.slot(index)));
        let word = slot.1;
        let line = &mut lines[index / group.len().div_ceil(2)];
        line.own += u32::from(tag.is_neighbour(word));
        if tag.names(word) {
            if !word::is_claimed(word) {
                return None;
            }
            claimed.get_or_insert(slot);
        } else if word == Word::EMPTY {
            line.count += 1;
            line.empty.get_or_insert(slot);
        } else if word::is_free(word) {
            line.count += 1;
            line.free.get_or_insert(slot);
        } else {
            found.push(slot);
        }
    }
    // Spreads each group over both lines. Otherwise the groups of a key could fill their lines
    // before each of its cells has a slot. In a tie, the line with more free slots is used.
    let lines = lines.into_iter().filter(|line| line.count > 0);
    let line = lines.min_by_key(|line| (line.own, u32::MAX - line.count));
    let free = line.and_then(|line| line.empty.or(line.free));
    Some(Survey {
        found,
        best: claimed.or(free),
    })
}
