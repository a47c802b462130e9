//! Packs the 128 bits of a slot into the 64 bits of a loom atomic, without loss. This is possible
//! because the model's fingerprints, tickets and instants are small. Packing panics if one of them
//! is too large.

use segment::slots::word::Word;

const PENDING: u64 = 1 << 63;
const BLOCKED: u64 = 1 << 62;
const KEY_SHIFT: u32 = 59;
const LIFETIME_SHIFT: u32 = 43;
const BLOCKED_SHIFT: u32 = 42;
const STAMP_SHIFT: u32 = 54;
const TICKET_BITS: u32 = 16;

/// Packs a word.
///
/// The highest bits are `pending: 1 | fingerprint: 4`.
///
/// - For a record, `lifetime: 16 | blocked: 1 | empty_at: 42` follows.
/// - For a claim, `stamp: 8 | ticket: 16` are the lowest bits.
pub fn pack(word: Word) -> u64 {
    let key = (word.tag >> 16) << KEY_SHIFT;
    let rest = if word.is_pending() {
        let stamp = (word.state & !PENDING) >> STAMP_SHIFT;
        let ticket = word.state & ((1 << STAMP_SHIFT) - 1);
        PENDING | (stamp << TICKET_BITS) | ticket
    } else {
        let blocked = u64::from(word.is_held()) << BLOCKED_SHIFT;
        ((word.tag & 0xffff) << LIFETIME_SHIFT) | blocked | (word.state & !BLOCKED)
    };
    let packed = key | rest;
    assert_eq!(unpack(packed), word, "too much for 64 bits");
    packed
}

pub fn unpack(packed: u64) -> Word {
    let key = ((packed & !PENDING) >> KEY_SHIFT) << 16;
    if packed & PENDING == 0 {
        let word = Word {
            tag: key | ((packed >> LIFETIME_SHIFT) & 0xffff),
            state: packed & ((1 << BLOCKED_SHIFT) - 1),
        };
        let is_blocked = packed >> BLOCKED_SHIFT & 1 == 1;
        return if is_blocked { word.held() } else { word };
    }
    let stamp = (packed >> TICKET_BITS) & 0xff;
    let ticket = packed & ((1 << TICKET_BITS) - 1);
    Word {
        tag: key,
        state: PENDING | (stamp << STAMP_SHIFT) | ticket,
    }
}
