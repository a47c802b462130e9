//! The word of a slot that holds a cell. A cell (K, i) is the permit with the number i of the key
//! K.
//!
//! ```text
//! tag    fingerprint of K: 48 bits | i: 16 bits
//! state  FREE     0 | 0 | 0
//!        HELD     0 | 0 | owner: 36 bits | ticket: 26 bits
//!        CLAIMED  1 | 0 | owner: 36 bits | ticket: 26 bits
//! ```
//!
//! An owner is a process. Its number is never 0, and no other process ever has the same number. The
//! ticket counts what the process has written. So no two holds and no two claims are equal words,
//! unless a process writes 2^26 words between two steps of another process.

use crate::slots::word::{Fingerprint, Word};

const OWNER_BITS: u32 = 36;
const OWNER_MASK: u64 = (1 << OWNER_BITS) - 1;
const TICKET_BITS: u32 = 26;
const TICKET_MASK: u64 = (1 << TICKET_BITS) - 1;
const CELL_BITS: u32 = 16;
const CLAIMED: u64 = 1 << 63;

/// The number of a process that holds permits. 0 stands for no process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(u64);

impl Owner {
    /// The number of a process that has not drawn one.
    pub const NONE: Self = Self(0);
    /// The number of bits of an owner's number.
    pub const BITS: u32 = OWNER_BITS;

    /// Returns the owner with this number, or `None` if the number is 0 or too great.
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 || number > OWNER_MASK {
            return None;
        }
        Some(Self(number))
    }

    /// Returns the number, which has at most 36 bits.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// The tag of the words of a cell, which identifies the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag(u64);

impl Tag {
    /// Returns the tag of the cell with this number of a key.
    #[inline]
    pub const fn new(fingerprint: Fingerprint, cell: u16) -> Self {
        Self(fingerprint.bits() << CELL_BITS | cell as u64)
    }

    /// Reports whether the slot holds this cell or is claimed for it.
    #[inline]
    pub const fn names(self, word: Word) -> bool {
        word.tag == self.0
    }

    /// Reports whether the slot holds another cell of the same group of four cells.
    pub const fn is_neighbour(self, word: Word) -> bool {
        !is_claimed(word) && word.tag != self.0 && self.shares_group(word)
    }

    /// Reports whether the slot holds a cell of the same group or is claimed for it.
    #[inline]
    pub const fn shares_group(self, word: Word) -> bool {
        const GROUP_BITS: u32 = 2;
        word.tag >> GROUP_BITS == self.0 >> GROUP_BITS
    }

    /// Returns the word of the cell while `owner` holds it.
    #[inline]
    pub const fn held(self, owner: Owner, ticket: u64) -> Word {
        Word {
            tag: self.0,
            state: owner.0 << TICKET_BITS | ticket & TICKET_MASK,
        }
    }

    /// Returns a claim of `owner` on a slot for the cell.
    pub const fn claimed(self, owner: Owner, ticket: u64) -> Word {
        let held = self.held(owner, ticket);
        Word {
            tag: held.tag,
            state: held.state | CLAIMED,
        }
    }
}

/// Returns the word of the same cell while it is free.
#[inline]
pub const fn freed(word: Word) -> Word {
    Word {
        tag: word.tag,
        state: 0,
    }
}

/// Returns the word of the same hold with another ticket.
pub const fn renewed(word: Word, ticket: u64) -> Word {
    Word {
        tag: word.tag,
        state: word.state & !TICKET_MASK | ticket & TICKET_MASK,
    }
}

/// Returns the number of the cell.
#[inline]
// The cast keeps the low bits, which are the number.
#[allow(clippy::cast_possible_truncation)]
pub const fn cell(word: Word) -> u16 {
    word.tag as u16
}

/// Returns the owner of a hold or of a claim.
#[inline]
pub const fn owner(word: Word) -> Owner {
    Owner(word.state >> TICKET_BITS & OWNER_MASK)
}

/// Reports whether the slot is claimed for a cell and holds no cell yet.
#[inline]
pub const fn is_claimed(word: Word) -> bool {
    word.state & CLAIMED != 0
}

/// Reports whether the slot has a free cell.
#[inline]
pub const fn is_free(word: Word) -> bool {
    !is_claimed(word) && owner(word).0 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_parts() {
        let tag = Tag::new(Fingerprint::new(0xabc), 1023);
        let greatest = Owner::new(OWNER_MASK).unwrap();
        for process in [Owner::new(1).unwrap(), Owner::new(77).unwrap(), greatest] {
            for ticket in [0, 5, u64::MAX] {
                let held = tag.held(process, ticket);
                assert!(tag.names(held) && !is_claimed(held) && !is_free(held));
                assert_eq!((cell(held), owner(held)), (1023, process));
                let claim = tag.claimed(process, ticket);
                assert!(tag.names(claim) && is_claimed(claim) && !is_free(claim));
                assert_eq!((cell(claim), owner(claim)), (1023, process));
                assert!(is_free(freed(held)) && tag.names(freed(held)));
                assert_eq!(renewed(held, 5), tag.held(process, 5));
            }
        }
    }

    #[test]
    fn an_owner_has_36_bits_and_is_never_0() {
        assert_eq!(Owner::new(0), None);
        assert_eq!(Owner::new(1 << 36), None);
        assert_eq!(Owner::new((1 << 36) - 1).unwrap().number(), (1 << 36) - 1);
    }
}
