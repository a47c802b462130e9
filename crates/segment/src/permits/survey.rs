//! Chooses a slot for a cell that is in no slot.

use super::protocol::{Group, load};
use super::word::{self, Tag};
use crate::slots::word::Word;

/// The index and the word of a slot.
type Found = (usize, Word);

/// The slots of a group.
pub(super) struct Survey {
    /// The slots that somebody holds or has claimed for another cell.
    pub found: Vec<Found>,
    /// The slot to claim: a slot that is claimed for the cell already, or a free slot.
    pub best: Option<Found>,
}

/// The free slots of a line.
#[derive(Clone, Copy, Default)]
struct Line {
    count: u32,
    empty: Option<Found>,
    free: Option<Found>,
}

/// Reads every slot. Returns `None` if one of them holds the cell.
pub(super) fn survey(group: &impl Group, tag: Tag) -> Option<Survey> {
    let mut claimed = None;
    let mut lines = [Line::default(); 2];
    let mut found = Vec::new();
    for index in 0..group.len() {
        let slot = (index, load(group.slot(index)));
        let word = slot.1;
        let line = &mut lines[index / group.len().div_ceil(2)];
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
    // The line with more free slots, so that lines fill evenly.
    let line = if lines[1].count > lines[0].count {
        lines[1]
    } else {
        lines[0]
    };
    Some(Survey {
        found,
        best: claimed.or(line.empty).or(line.free),
    })
}
