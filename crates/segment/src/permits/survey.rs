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

/// The slots of a line.
#[derive(Clone, Copy, Default)]
struct Line {
    /// The number of slots that hold other cells of the same group.
    own: u32,
    /// The number of free slots.
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
    // before each of its cells has a slot. The line with more free slots decides a tie.
    let lines = lines.into_iter().filter(|line| line.count > 0);
    let line = lines.min_by_key(|line| (line.own, u32::MAX - line.count));
    let free = line.and_then(|line| line.empty.or(line.free));
    Some(Survey {
        found,
        best: claimed.or(free),
    })
}
