//! The content of a slot: 128 bits that change together.
//!
//! ```text
//! tag    fingerprint: 48 bits | lifetime: 16 bits
//! state  LIVE     0 | blocked: 1 bit | empty_at: 62 bits
//!        PENDING  1 | 0 | age stamp: 8 bits | shard: 6 bits | count: 48 bits
//! ```
//!
//! The fingerprint 0 means no bucket, as in the word `EMPTY`. The lifetime is the greatest lifetime
//! of the quotas under which callers took from the bucket since it was last full. A bucket is full
//! under every quota at `empty_at` plus the lifetime. The lifetime is rounded **up**. Otherwise a
//! bucket could count as full too early. Stamp, shard and count make every claim a different word.
//! The shard and the count together are the ticket of the claim.

use gcra::clock::{Ticks, Timestamp};
use gcra::store::UNKNOWN_SPAN;

const PENDING: u64 = 1 << 63;
/// The mark of a record that is blocked until its next token comes.
const BLOCKED: u64 = 1 << 62;
const EMPTY_AT: u64 = BLOCKED - 1;
const FINGERPRINT_BITS: u32 = 48;
const LIFETIME_BITS: u32 = 16;
const LIFETIME_MASK: u64 = (1 << LIFETIME_BITS) - 1;
const MANTISSA_BITS: u32 = 10;
const STAMP_SHIFT: u32 = 54;
const STAMP_MASK: u64 = 0xff;
/// The binary logarithm of the stamp's unit: 2^22 ns (4.2 ms).
const STAMP_UNIT: u32 = 22;
/// The age in units of the stamp from which a claim counts as abandoned. The real age is then 8.4
/// to 12.6 ms.
const ABANDONED: u64 = 3;

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Fingerprint and lifetime.
    pub tag: u64,
    /// `empty_at` of a record, or the stamp and ticket of a claim.
    pub state: u64,
}

/// The part of a key's hash that its slot keeps: 48 bits, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Returns the low 48 bits as a fingerprint. If they are 0, the fingerprint is 1.
    #[inline]
    #[must_use]
    pub const fn new(bits: u64) -> Self {
        let bits = bits & ((1 << FINGERPRINT_BITS) - 1);
        Self(if bits == 0 { 1 } else { bits })
    }

    /// Returns the 48 bits.
    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
}

impl Word {
    /// The word of an empty slot.
    pub const EMPTY: Self = Self { tag: 0, state: 0 };

    /// Returns a claim on a slot for the bucket of this fingerprint. A claim never holds taken
    /// tokens.
    #[must_use]
    pub const fn pending(fingerprint: Fingerprint, ticket: u64, now: Timestamp) -> Self {
        let stamp = ((now.0 >> STAMP_UNIT) & STAMP_MASK) << STAMP_SHIFT;
        Self {
            tag: fingerprint.0 << LIFETIME_BITS,
            state: PENDING | stamp | (ticket & ((1 << STAMP_SHIFT) - 1)),
        }
    }

    /// Returns a record of the bucket in the state `empty_at`.
    #[must_use]
    pub const fn live(fingerprint: Fingerprint, lifetime: Lifetime, empty_at: Timestamp) -> Self {
        Self {
            tag: (fingerprint.0 << LIFETIME_BITS) | lifetime.0,
            state: empty_at.0 & EMPTY_AT,
        }
    }

    /// Returns the same bucket in another state, without the mark of a block. The new lifetime is
    /// the greater of the old lifetime and `lifetime`.
    #[inline]
    #[must_use]
    pub fn moved(self, empty_at: Timestamp, lifetime: Lifetime) -> Self {
        let lifetime = lifetime.max(Lifetime(self.tag & LIFETIME_MASK));
        Self {
            tag: (self.tag & !LIFETIME_MASK) | lifetime.0,
            state: empty_at.0 & EMPTY_AT,
        }
    }

    /// Returns the record on which a step of this lifetime is decided at `now`. A record that is
    /// full counts as absent, so that it is full for a longer lifetime, too. A record of the same
    /// lifetime needs no comparison, because its step computes the same state from either record.
    #[inline(always)]
    #[must_use]
    pub fn seen_by(self, lifetime: Lifetime, now: Timestamp) -> Self {
        if self.tag & LIFETIME_MASK == lifetime.0 {
            return self;
        }
        self.unless_full(now)
    }

    /// Returns the record, or one without a state and a lifetime if the bucket is full at `now`.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn unless_full(self, now: Timestamp) -> Self {
        if self.full_at() > now {
            return self;
        }
        Self {
            tag: self.tag & !LIFETIME_MASK,
            state: 0,
        }
    }

    /// Reports whether the slot holds this bucket or is claimed for it.
    #[inline]
    #[must_use]
    pub const fn is_of(self, fingerprint: Fingerprint) -> bool {
        self.tag >> LIFETIME_BITS == fingerprint.0
    }

    /// Reports whether the slot is claimed and not yet a bucket.
    #[inline]
    #[must_use]
    pub const fn is_pending(self) -> bool {
        self.state & PENDING != 0
    }

    /// Returns the bucket's state `empty_at`. The result has no meaning for a claim.
    #[inline]
    #[must_use]
    pub const fn empty_at(self) -> Timestamp {
        Timestamp(self.state & EMPTY_AT)
    }

    /// Returns the record with the mark of a block.
    #[must_use]
    pub const fn blocked(self) -> Self {
        Self {
            state: self.state | BLOCKED,
            ..self
        }
    }

    /// Reports whether the record has the mark of a block. The result has no meaning for a claim.
    #[must_use]
    pub const fn is_blocked(self) -> bool {
        self.state & BLOCKED != 0
    }

    /// Returns the instant from which the bucket is full.
    #[must_use]
    pub fn full_at(self) -> Timestamp {
        self.empty_at()
            .saturating_add(Lifetime(self.tag & LIFETIME_MASK).ticks())
    }

    /// Reports whether this bucket lacks a smaller share of its lifetime at `now` than `other`. If
    /// the shares are equal, compares the missing ticks. This cannot overflow, because a product of
    /// two 64-bit numbers fits into 128 bits.
    #[must_use]
    pub fn lacks_less_than(self, other: Self, now: Timestamp) -> bool {
        let missing = |word: Self| u128::from(word.full_at().saturating_since(now));
        let lifetime = |word: Self| u128::from(Lifetime(word.tag & LIFETIME_MASK).ticks());
        let (mine, its) = (missing(self), missing(other));
        (mine * lifetime(other), mine) < (its * lifetime(self), its)
    }

    /// Reports whether any caller may take the slot because it is empty or its bucket is full.
    #[must_use]
    pub fn is_reclaimable(self, now: Timestamp) -> bool {
        self == Self::EMPTY || (!self.is_pending() && self.full_at() <= now)
    }

    /// Reports whether this word is a claim so old that its process must have died or been stopped.
    ///
    /// The stamp wraps around every 1.07 s. In 12 ms of each such period, an abandoned claim looks
    /// young. This only delays the callers that need the slot.
    #[must_use]
    pub const fn is_abandoned(self, now: Timestamp) -> bool {
        let stamp = self.state >> STAMP_SHIFT;
        self.is_pending() && (now.0 >> STAMP_UNIT).wrapping_sub(stamp) & STAMP_MASK >= ABANDONED
    }
}

impl From<u128> for Word {
    #[inline]
    // Each cast takes one half, which has 64 bits.
    #[allow(clippy::cast_possible_truncation)]
    fn from(bits: u128) -> Self {
        Self {
            tag: bits as u64,
            state: (bits >> 64) as u64,
        }
    }
}

impl From<Word> for u128 {
    #[inline]
    fn from(word: Word) -> Self {
        Self::from(word.tag) | Self::from(word.state) << 64
    }
}

/// A lifetime as a 16-bit code: a small float with 6 bits of exponent and 10 of mantissa. Greater
/// lifetimes have greater codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lifetime(u64);

impl Lifetime {
    /// The lifetime of a record that was created without taking tokens. The lifetime of this record
    /// never becomes less, because the quota for which the record was created is unknown.
    pub const UNKNOWN: Self = Self::covering(UNKNOWN_SPAN);
    /// The least lifetime. As the argument of [`Word::moved`], it keeps the lifetime of the record.
    pub const LEAST: Self = Self(0);

    /// Returns the least lifetime that is not below `ticks`. It is at most 0.1 % longer.
    #[inline]
    #[must_use]
    pub const fn covering(ticks: Ticks) -> Self {
        let bits = u64::BITS - ticks.leading_zeros();
        if bits <= MANTISSA_BITS {
            return Self(ticks);
        }
        let shift = bits - (MANTISSA_BITS + 1);
        // A lifetime is at most 2^61, so adding less than 2^51 cannot overflow. A mantissa that is
        // rounded up to 2^11 carries into the exponent, which gives the correct code.
        let mantissa = (ticks + ((1 << shift) - 1)) >> shift;
        Self(((shift as u64) << MANTISSA_BITS) + mantissa)
    }

    /// Returns the lifetime in ticks.
    #[must_use]
    pub const fn ticks(self) -> Ticks {
        let exponent = self.0 >> MANTISSA_BITS;
        let mantissa = self.0 & ((1 << MANTISSA_BITS) - 1);
        match exponent {
            0 => mantissa,
            // Only a corrupted word has such an exponent. Its bucket counts as never full.
            54.. => Ticks::MAX,
            _ => (mantissa + (1 << MANTISSA_BITS)) << (exponent - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_covers_and_is_tight() {
        let mut ticks: Ticks = 1;
        while ticks <= 1 << 61 {
            assert_eq!(Lifetime::covering(ticks).ticks(), ticks);
            for near in [ticks - 1, ticks, ticks + 1, ticks + ticks / 3] {
                if near == 0 {
                    continue;
                }
                let covered = Lifetime::covering(near).ticks();
                assert!(covered >= near, "{near}");
                assert!(covered - near <= near / 1000, "{near} {covered}");
                assert!(Lifetime::covering(near) <= Lifetime::covering(near + 1));
            }
            ticks *= 2;
        }
    }

    #[test]
    fn a_word_keeps_its_parts() {
        let word = Word::live(
            Fingerprint::new(0xabc),
            Lifetime::covering(5000),
            Timestamp(77),
        );
        assert_eq!(Word::from(u128::from(word)), word);
        assert!(word.is_of(Fingerprint::new(0xabc)) && !word.is_pending());
        let moved = word.moved(Timestamp(99), Lifetime::covering(10));
        assert_eq!(moved.full_at().0, 99 + Lifetime::covering(5000).ticks());
        assert!(moved.is_reclaimable(moved.full_at()));
        assert!(!moved.is_reclaimable(moved.full_at() - 1));
    }

    #[test]
    fn a_small_burst_does_not_shorten_an_unknown_span() {
        let created = Word::live(Fingerprint::new(1), Lifetime::UNKNOWN, Timestamp(1_000));
        let moved = created.moved(Timestamp(1_000), Lifetime::covering(2_000_000));
        assert!(moved.full_at().0 >= 1_000 + UNKNOWN_SPAN);
    }

    #[test]
    fn a_claim_is_abandoned_after_some_milliseconds() {
        let now = gcra::clock::EPOCH + 123_456_789_012;
        let claim = Word::pending(Fingerprint::new(1), 5, now);
        assert!(!claim.is_abandoned(now));
        assert!(!claim.is_abandoned(now + 8_000_000));
        assert!(claim.is_abandoned(now + 13_000_000));
        assert!(!claim.is_reclaimable(now + (1 << 61)));
    }
}
