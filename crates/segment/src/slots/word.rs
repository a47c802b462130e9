//! The content of a slot: 128 bits that change together.
//!
//! ```text
//! tag    fingerprint: 48 bits | lifetime: 16 bits
//! state  LIVE     0 | held: 1 bit | empty_at: 62 bits
//!        PENDING  1 | 0 | age stamp: 8 bits | shard: 6 bits | count: 48 bits
//! ```
//!
//! The fingerprint 0 means no bucket, as in the word `EMPTY`. The lifetime is the greatest lifetime
//! of the quotas under which callers took from the bucket since it was last full. A bucket is full
//! under every quota at `empty_at` plus the lifetime. The lifetime is rounded **up**. Otherwise a
//! bucket could count as full too early. Stamp, shard and count make every claim a different word.
//! The shard and the count together are the ticket of the claim.
//!
//! A held record is a block, a lockout or a window of a quota. Its tokens do not come back one by
//! one, so an eviction treats them as missing until the record is full.

use gcra::store::UNKNOWN_SPAN;
use gcra::{Refill, Step, TICKS_PER_SECOND, Ticks, Timestamp};

const PENDING: u64 = 1 << 63;
/// The mark of a held record.
const HELD: u64 = 1 << 62;
const EMPTY_AT: u64 = HELD - 1;
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
    pub const EMPTY: Self = Self { tag: 0, state: 0 };

    /// Returns a claim on a slot for the bucket of this fingerprint. A claim never holds taken
    /// tokens.
    pub const fn pending(fingerprint: Fingerprint, ticket: u64, now: Timestamp) -> Self {
        let stamp = ((now.0 >> STAMP_UNIT) & STAMP_MASK) << STAMP_SHIFT;
        Self {
            tag: fingerprint.0 << LIFETIME_BITS,
            state: PENDING | stamp | (ticket & ((1 << STAMP_SHIFT) - 1)),
        }
    }

    /// Returns a record of the bucket in the state `empty_at`.
    pub const fn live(fingerprint: Fingerprint, lifetime: Lifetime, empty_at: Timestamp) -> Self {
        Self {
            tag: (fingerprint.0 << LIFETIME_BITS) | lifetime.code(),
            state: empty_at.0 & EMPTY_AT | lifetime.mark(),
        }
    }

    /// Returns the same bucket in another state. It is held if `lifetime` is. The new lifetime is
    /// the greater of the old lifetime and `lifetime`, or `lifetime` itself if that is exact.
    #[inline]
    pub fn moved(self, empty_at: Timestamp, lifetime: Lifetime) -> Self {
        // Nearly every caller has the lifetime of the record, which is then not held.
        if self.tag & LIFETIME_MASK != lifetime.0 {
            return self.moved_by_other(empty_at, lifetime);
        }
        Self {
            state: empty_at.0 & EMPTY_AT,
            ..self
        }
    }

    /// Returns the record on which a step of this lifetime is decided at `now`. A record that is
    /// full counts as absent, so that it is full for a longer lifetime, too. A record of the same
    /// lifetime needs no comparison, because its step computes the same state from either record.
    #[inline(always)]
    pub fn seen_by(self, lifetime: Lifetime, now: Timestamp) -> Self {
        if self.tag & LIFETIME_MASK == lifetime.0 {
            return self;
        }
        self.seen_by_other(lifetime, now)
    }

    /// Does the same for another lifetime. A call that is late takes from a window that has ended,
    /// so its record counts as long as it is there.
    #[cold]
    #[inline(never)]
    fn seen_by_other(self, lifetime: Lifetime, now: Timestamp) -> Self {
        if lifetime.0 & Lifetime::EXACT != 0 {
            return self;
        }
        self.unless_full(now)
    }

    /// Returns the record, or one without a state and a lifetime if the bucket is full at `now`.
    #[cold]
    #[inline(never)]
    pub fn unless_full(self, now: Timestamp) -> Self {
        if self.full_at() > now {
            return self;
        }
        Self {
            tag: self.tag & !LIFETIME_MASK,
            state: 0,
        }
    }

    #[cold]
    #[inline(never)]
    fn moved_by_other(self, empty_at: Timestamp, lifetime: Lifetime) -> Self {
        let mut code = lifetime.code();
        if lifetime.0 & Lifetime::EXACT == 0 {
            code = code.max(self.tag & LIFETIME_MASK);
        }
        Self {
            tag: (self.tag & !LIFETIME_MASK) | code,
            state: empty_at.0 & EMPTY_AT | lifetime.mark(),
        }
    }

    /// Returns the same record with at least this lifetime. The record of a window keeps its own.
    pub fn covering(self, lifetime: Lifetime) -> Self {
        if lifetime.0 & Lifetime::EXACT != 0 {
            return self;
        }
        let code = lifetime.code().max(self.tag & LIFETIME_MASK);
        Self {
            tag: (self.tag & !LIFETIME_MASK) | code,
            ..self
        }
    }

    /// Reports whether the slot holds this bucket or is claimed for it.
    #[inline]
    pub const fn is_of(self, fingerprint: Fingerprint) -> bool {
        self.tag >> LIFETIME_BITS == fingerprint.0
    }

    /// Reports whether the slot is claimed and not yet a bucket.
    #[inline]
    pub const fn is_pending(self) -> bool {
        self.state & PENDING != 0
    }

    /// Returns the bucket's state `empty_at`. The result has no meaning for a claim.
    #[inline]
    pub const fn empty_at(self) -> Timestamp {
        Timestamp(self.state & EMPTY_AT)
    }

    /// Returns the record with the mark of a held record.
    pub const fn held(self) -> Self {
        Self {
            state: self.state | HELD,
            ..self
        }
    }

    /// Reports whether the record is held. The result has no meaning for a claim.
    pub const fn is_held(self) -> bool {
        self.state & HELD != 0
    }

    const fn lifetime(self) -> Lifetime {
        Lifetime(self.tag & LIFETIME_MASK)
    }

    /// Returns the instant from which the bucket is full.
    pub fn full_at(self) -> Timestamp {
        let (empty_at, lifetime) = (self.empty_at(), self.lifetime());
        empty_at
            .saturating_add(lifetime.ticks())
            .saturating_sub(lifetime.lead())
    }

    /// Returns the ticks that the bucket lacks at `now`. A held record that is not full lacks its
    /// whole lifetime.
    pub fn missing(self, now: Timestamp) -> Ticks {
        let left = self.full_at().saturating_since(now);
        if left > 0 && self.is_held() {
            left.max(self.lifetime().ticks())
        } else {
            left
        }
    }

    /// Reports whether this bucket lacks a smaller share of its lifetime at `now` than `other`. If
    /// the shares are equal, compares the ticks until they are full. This cannot overflow, because
    /// a product of two 64-bit numbers fits into 128 bits.
    pub fn lacks_less_than(self, other: Self, now: Timestamp) -> bool {
        let missing = |word: Self| u128::from(word.missing(now));
        let lifetime = |word: Self| u128::from(word.lifetime().ticks());
        let left = |word: Self| word.full_at().saturating_since(now);
        let mine = missing(self) * lifetime(other);
        let its = missing(other) * lifetime(self);
        (mine, left(self)) < (its, left(other))
    }

    /// Reports whether any caller may take the slot because it is empty or its bucket is full.
    pub fn is_reclaimable(self, now: Timestamp) -> bool {
        self == Self::EMPTY || (!self.is_pending() && self.full_at() <= now)
    }

    /// Reports whether this word is a claim so old that its process must have died or been stopped.
    ///
    /// The stamp wraps around every 1.07 s. In 12 ms of each such period, an abandoned claim looks
    /// young. This only delays the callers that need the slot.
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
/// lifetimes have greater codes. Codes above all lifetimes are leads: the record is full so many
/// ticks before `empty_at`. Only the window of a quota has a lead, after the wall clock was set
/// forward by more than the window; see [`super::windows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lifetime(u64);

impl Lifetime {
    /// The lifetime of a record that was created without taking tokens. The lifetime of this record
    /// never becomes less, because the quota for which the record was created is unknown.
    pub const UNKNOWN: Self = Self::covering(UNKNOWN_SPAN);
    /// The least lifetime. As the argument of [`Word::moved`], it keeps the lifetime of the record.
    pub const LEAST: Self = Self(0);
    /// The flag of a lifetime that makes its record held.
    const HELD: u64 = 1 << LIFETIME_BITS;
    /// The flag of a lifetime that replaces the lifetime of its record.
    const EXACT: u64 = 2 << LIFETIME_BITS;
    /// The least code of a lead.
    const LEAD: u64 = 54 << MANTISSA_BITS;
    /// The unit of leads, in ticks: 2^20 ns.
    const LEAD_UNIT: u32 = 20;
    /// The bits of the mantissa of a lead.
    const LEAD_BITS: u32 = 8;

    /// Returns the lifetime of a record after a step. In a window of
    /// [`super::SharedMemory::in_slots`], the first length is the lead.
    #[inline]
    pub fn of(step: &Step) -> Self {
        match step.refill {
            Refill::Windows(windows) => Self::of_window(windows.lengths[0], step.lifetime()),
            _ => Self::covering(step.lifetime()),
        }
    }

    /// Returns the lifetime of a window: `lead` seconds, or `ticks` if the lead is 0.
    pub const fn of_window(lead: u32, ticks: Ticks) -> Self {
        let lifetime = match lead {
            0 => Self::covering(ticks),
            lead => Self::leading(lead as Ticks * TICKS_PER_SECOND),
        };
        Self(lifetime.0 | Self::HELD | Self::EXACT)
    }

    /// Returns the lifetime that makes its record held.
    pub const fn held(self) -> Self {
        Self(self.0 | Self::HELD)
    }

    /// Returns the greatest lead that is not above `ticks`. It is at most 0.4 % shorter.
    const fn leading(ticks: Ticks) -> Self {
        let units = ticks >> Self::LEAD_UNIT;
        let bits = u64::BITS - units.leading_zeros();
        let shift = bits.saturating_sub(Self::LEAD_BITS + 1);
        // The sum carries the leading bit of the mantissa into the exponent, as in `covering`.
        Self(Self::LEAD + ((shift as u64) << Self::LEAD_BITS) + (units >> shift))
    }

    /// Returns the lead in ticks; 0 for a lifetime.
    const fn lead(self) -> Ticks {
        let Some(code) = self.code().checked_sub(Self::LEAD) else {
            return 0;
        };
        let (exponent, mantissa) = (code >> Self::LEAD_BITS, code % (1 << Self::LEAD_BITS));
        let units = match exponent {
            0 => mantissa,
            // A corrupted word may have any exponent up to 39.
            _ => {
                (mantissa + (1 << Self::LEAD_BITS)) << if exponent > 35 { 34 } else { exponent - 1 }
            }
        };
        units << Self::LEAD_UNIT
    }

    const fn code(self) -> u64 {
        self.0 & LIFETIME_MASK
    }

    const fn mark(self) -> u64 {
        (self.0 & Self::HELD) << (62 - LIFETIME_BITS)
    }

    /// Returns the least lifetime that is not below `ticks`. It is at most 0.1 % longer.
    #[inline]
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

    /// Returns the lifetime as the client flags of an item, which are not 0 for a bucket that took
    /// tokens. Clients of memcached read types and compression in the lower bits of the flags.
    #[must_use]
    // A code has 16 bits.
    #[allow(clippy::cast_possible_truncation)]
    pub const fn to_flags(self) -> u32 {
        (self.code() as u32) << LIFETIME_BITS
    }

    /// Returns the lifetime of the client flags of an item, or `None` if they are 0 or no lifetime.
    #[must_use]
    pub const fn of_flags(flags: u32) -> Option<Self> {
        match (flags >> LIFETIME_BITS) as u64 {
            code @ 1..Self::LEAD => Some(Self(code)),
            _ => None,
        }
    }

    /// Returns the lifetime in ticks.
    pub const fn ticks(self) -> Ticks {
        let exponent = self.code() >> MANTISSA_BITS;
        let mantissa = self.code() & ((1 << MANTISSA_BITS) - 1);
        match exponent {
            0 => mantissa,
            // The code is a lead.
            54.. => 0,
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
    fn the_lifetime_of_a_window_replaces_a_longer_one() {
        let long = Word::live(Fingerprint::new(1), Lifetime::covering(900), Timestamp(9));
        let full_at = |lifetime| long.moved(Timestamp(9), lifetime).full_at();
        assert_eq!(full_at(Lifetime::of_window(0, 100)), Timestamp(109));
        assert_eq!(full_at(Lifetime::covering(100)), Timestamp(909));
    }

    #[test]
    fn flags_keep_each_lifetime_but_no_lead() {
        for ticks in [1, 100, TICKS_PER_SECOND, UNKNOWN_SPAN] {
            let lifetime = Lifetime::covering(ticks);
            assert_eq!(Lifetime::of_flags(lifetime.to_flags()), Some(lifetime));
        }
        let lead = Lifetime::of_window(60, 0);
        assert_eq!(Lifetime::of_flags(lead.to_flags()), None);
        assert_eq!(Lifetime::of_flags(0), None);
        assert_eq!(Lifetime::covering(100).to_flags(), 100 << 16);
    }

    #[test]
    fn a_lead_is_kept_and_never_too_long() {
        for seconds in [1, 2, 59, 3600, 86_400, 90_000, 2_000_000_000] {
            let ticks = Ticks::from(seconds) * TICKS_PER_SECOND;
            let lead = Lifetime::of_window(seconds, 0).lead();
            assert!(
                lead <= ticks && ticks - lead <= ticks / 256 + (1 << 20),
                "{seconds}"
            );
            let word = Word::live(
                Fingerprint::new(1),
                Lifetime::of_window(seconds, 0),
                Timestamp(1 << 62 >> 1),
            );
            assert_eq!(word.full_at().0, (1 << 62 >> 1) - lead);
            let before = Word::live(Fingerprint::new(1), Lifetime::covering(ticks), Timestamp(9));
            assert_eq!(
                before.moved(word.empty_at(), Lifetime::of_window(seconds, 0)),
                word
            );
            assert_eq!(
                word.moved(Timestamp(9), Lifetime::LEAST.held()).tag,
                word.tag
            );
        }
        assert_eq!(Lifetime::covering(1 << 61).lead(), 0);
    }

    #[test]
    fn a_held_record_lacks_its_whole_lifetime_until_it_is_full() {
        let lifetime = Lifetime::covering(1 << 40);
        let free = Word::live(Fingerprint::new(1), lifetime, Timestamp(1 << 50));
        let held = free.moved(free.empty_at(), lifetime.held());
        let full_at = free.full_at();
        assert_eq!(
            (free.missing(full_at - 1), held.missing(full_at - 1)),
            (1, 1 << 40)
        );
        assert_eq!(held.missing(full_at), 0);
        let other = Word::live(Fingerprint::new(2), lifetime, full_at - (1 << 39));
        assert!(free.lacks_less_than(other, full_at - 1));
        assert!(other.lacks_less_than(held, full_at - 1));
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
    fn a_small_capacity_does_not_shorten_an_unknown_span() {
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
