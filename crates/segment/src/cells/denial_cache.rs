//! The denial cache: the last states that this host received of buckets in remote stores.
//!
//! A bucket's `empty_at` is the instant at which it was, or will be, empty. A step only moves that
//! instant forward. So an instant that a host has received once stays a lower bound. The host may
//! deny from this bound without contacting the store. An entry holds the bound on this host's
//! clock, the instant at which the request for the state was sent (`seen`), and the error of the
//! bound. The cache has memory of its own, so an entry never evicts a bucket. A lost entry causes
//! one more round trip.
//!
//! ```text
//! set    cleared_at: 64 bits | asker: 64 bits | three entries
//! entry  fingerprint: 48 bits | seen: 45 bits | exponent: 5 bits | bound: 30 bits
//! ```
//!
//! Refunds and resets move `empty_at` back. Before a worker sends one of them, and again after the
//! reply, it writes the current instant, the stamp, to the set's `cleared_at`.
//!
//! Invariant: an entry is used only if its request was sent after the set's stamp. Every reader
//! compares the two instants. So the stamp alone removes all earlier entries of the set, also those
//! of requests whose replies arrive later. Nothing is left to finish if a worker is killed. The
//! stamp removes the entries of up to two other buckets, too.
//!
//! If an entry shows at most one token left, only one worker of the host contacts the store at a
//! time. This worker holds the set's lease, and the others wait for its entry for a short time. The
//! lease is the word `asker`: 19 bits of the fingerprint, and the unit in which the lease ends. A
//! lease decides nothing, so any value is valid.

use super::ahead::set_of;
use gcra::ahead::{FINGERPRINT_BITS, SENT_BITS, UNIT_BITS, fingerprint, sent, start};
use gcra::{EPOCH, Ticks, Timestamp};
use portable_atomic::AtomicU128;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

const ENTRIES: usize = 3;
const EXPONENT_BITS: u32 = 5;
const BOUND_BITS: u32 = 30;
/// The least exponent of the unit of a bound: 2^14 ns.
const LEAST_EXPONENT: u32 = 14;
/// The greatest exponent: 2^40 ns (18 minutes). The error with which a bound is recorded is
/// shorter, because no call takes that long.
const GREATEST_EXPONENT: u32 = 40;
/// The bits of a lease that hold the unit in which it ends.
const LEASE_END: u64 = (1 << SENT_BITS) - 1;
/// All instants are below this one.
const END: Timestamp = Timestamp(1 << 62);

/// A set of three entries, and the instant at which the set was last cleared.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct EntrySet {
    cleared_at: AtomicU64,
    asker: AtomicU64,
    entries: [AtomicU128; ENTRIES],
}

/// The last state that this host received of a bucket in a remote store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheEntry {
    /// The bucket's `empty_at` on this host's clock, or a little earlier.
    pub bound: Timestamp,
    /// The ticks by which `empty_at` may be later than the bound.
    pub error: Ticks,
    /// The ticks since the request for this state was sent, rounded up.
    pub age: Ticks,
}

#[derive(Clone, Copy, Debug)]
pub struct DenialCache<'a>(&'a [EntrySet]);

impl<'a> DenialCache<'a> {
    /// Wraps `sets`, of which there must be at least one.
    pub(crate) const fn new(sets: &'a [EntrySet]) -> Self {
        Self(sets)
    }

    fn set(&self, hash: u128) -> &'a EntrySet {
        set_of(self.0, hash)
    }

    /// Returns the entry of the bucket with this hash, with its age at `now`. Returns `None` if the
    /// entry is missing, if the set was cleared after the entry's request was sent, or if the
    /// request was sent after `now`.
    #[inline]
    pub fn find(&self, hash: u128, now: Timestamp) -> Option<CacheEntry> {
        let set = self.set(hash);
        // Relaxed: an entry is a single word, and the stamp is compared by value.
        let mut words = set.entries.iter().map(|slot| slot.load(Relaxed));
        let word = words.find(|&word| fingerprint(word) == fingerprint(hash))?;
        let seen = sent(word);
        // Both instants are rounded down to units. So an entry whose request was sent in the unit
        // of the stamp is not used, because it may be older than the stamp.
        let is_current = unit(Timestamp(set.cleared_at.load(Acquire))) < seen && seen <= unit(now);
        is_current.then(|| unpack(word, now))
    }

    /// Records that the bucket's `empty_at` was at least `bound` and at most `bound + error`. The
    /// request that returned this state was sent at `sent`. Records nothing if the set has been
    /// cleared since then.
    pub fn record(&self, hash: u128, bound: Timestamp, error: Ticks, sent: Timestamp) {
        let set = self.set(hash);
        // An entry that no reader would use must not replace another one.
        if set.cleared_at.load(Acquire) >= sent.0 {
            return;
        }
        let word = pack(fingerprint(hash), bound, error, sent);
        let slot = set.place(word);
        let old = slot.load(Relaxed);
        // If another worker has just written to this slot, keep that entry, because it is as
        // recent.
        slot.compare_exchange(old, word, AcqRel, Relaxed).ok();
    }

    /// Requests the lease that allows this worker to ask the store about the bucket, from `now` for
    /// `length` ticks. Returns false if another worker holds this lease. If the lease belongs to
    /// another bucket of the set, returns true without a lease, because no call waits for another
    /// bucket.
    pub fn lease(&self, hash: u128, now: Timestamp, length: Ticks) -> bool {
        let asker = &self.set(hash).asker;
        let held = asker.load(Acquire);
        let is_over = held & LEASE_END < unit(now);
        if !is_over {
            return held & !LEASE_END != lessee(hash);
        }
        let end = unit(now + length) & LEASE_END;
        asker
            .compare_exchange(held, lessee(hash) | end, AcqRel, Acquire)
            .is_ok()
    }

    /// Returns true if a worker holds the lease of the bucket.
    pub fn is_leased(&self, hash: u128) -> bool {
        self.set(hash).asker.load(Acquire) & !LEASE_END == lessee(hash)
    }

    /// Ends the lease on the bucket, so that another worker may ask the store.
    pub fn release(&self, hash: u128) {
        let asker = &self.set(hash).asker;
        let held = asker.load(Relaxed);
        if held & !LEASE_END == lessee(hash) {
            // Release publishes the entry that the worker has recorded.
            asker.compare_exchange(held, 0, AcqRel, Relaxed).ok();
        }
    }

    /// Removes all entries of the bucket's set whose requests were sent up to `now`.
    pub fn clear(&self, hash: u128, now: Timestamp) {
        self.set(hash).cleared_at.fetch_max(now.0, AcqRel);
    }
}

impl EntrySet {
    /// Returns the place of a new entry. It is the place of an older entry of the same bucket,
    /// otherwise that of the oldest entry. An empty place counts as the oldest.
    fn place(&self, word: u128) -> &AtomicU128 {
        let mut oldest = (&self.entries[0], u64::MAX);
        for slot in &self.entries {
            let other = slot.load(Relaxed);
            if fingerprint(other) == fingerprint(word) {
                return slot;
            }
            if sent(other) < oldest.1 {
                oldest = (slot, sent(other));
            }
        }
        oldest.0
    }
}

/// Returns the bits of a hash that identify a bucket in a lease.
// The cast keeps only the bits that are needed.
#[allow(clippy::cast_possible_truncation)]
const fn lessee(hash: u128) -> u64 {
    (hash as u64) << SENT_BITS
}

/// Returns the number of the unit in which `instant` lies.
const fn unit(instant: Timestamp) -> u64 {
    instant.saturating_since(EPOCH) >> UNIT_BITS
}

/// Packs an entry. Rounds the bound down to a multiple of 2^exponent. The error becomes twice that
/// power. The exponent is the least one for which the bound and the error fit. If an unpacked entry
/// is packed again, its bound and its error stay.
///
/// The entry holds the 30 bits of the bound in front of the bits that were rounded to zero. The
/// bound is the number with these bits that is nearest to `seen`.
// The casts keep only the bits that are needed.
#[allow(clippy::cast_possible_truncation)]
fn pack(fingerprint: u128, bound: Timestamp, error: Ticks, sent: Timestamp) -> u128 {
    let seen = unit(sent) & ((1 << SENT_BITS) - 1);
    let bound = bound.min(END).0;
    let error = error.clamp(1 << LEAST_EXPONENT, 1 << GREATEST_EXPONENT);
    // The distance is below 2^62, so that the exponent is at most 40.
    let length = u64::BITS - bound.abs_diff(start(seen).0).leading_zeros();
    let mut exponent = (error.next_power_of_two().trailing_zeros() - 1)
        .max((length + 2).saturating_sub(BOUND_BITS))
        .max(LEAST_EXPONENT);
    let rounding = bound & ((1 << exponent) - 1);
    if error + rounding > 2 << exponent {
        exponent += 1;
    }
    let bound = bound >> exponent & ((1 << BOUND_BITS) - 1);
    fingerprint
        | u128::from(seen) << FINGERPRINT_BITS
        | u128::from(exponent - LEAST_EXPONENT) << (FINGERPRINT_BITS + SENT_BITS)
        | u128::from(bound) << (FINGERPRINT_BITS + SENT_BITS + EXPONENT_BITS)
}

/// Unpacks an entry. Any word is valid, because other processes may write to the segment.
// The casts keep only the bits that are needed.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn unpack(word: u128, now: Timestamp) -> CacheEntry {
    const REST: u32 = u64::BITS - BOUND_BITS;
    let seen = sent(word);
    let exponent = (word >> (FINGERPRINT_BITS + SENT_BITS)) as u32 & ((1 << EXPONENT_BITS) - 1);
    let exponent = (exponent + LEAST_EXPONENT).min(GREATEST_EXPONENT);
    let bits = (word >> (FINGERPRINT_BITS + SENT_BITS + EXPONENT_BITS)) as u64;
    let near = start(seen).0 >> exponent;
    // The shift to the right keeps the sign of the difference.
    let distance = (bits.wrapping_sub(near) << REST).cast_signed() >> REST;
    let bound = (i128::from(near) + i128::from(distance)) << exponent;
    CacheEntry {
        bound: Timestamp(bound.clamp(0, i128::from(END.0)) as Ticks),
        error: 2 << exponent,
        // Round up: the request was sent at some time within its unit.
        age: (unit(now).saturating_sub(seen) + 1) << UNIT_BITS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcra::TICKS_PER_SECOND;

    const NOW: Timestamp = Timestamp(EPOCH.0 + 123 * TICKS_PER_SECOND);

    fn sets(count: usize) -> Vec<EntrySet> {
        std::iter::repeat_with(EntrySet::default)
            .take(count)
            .collect()
    }

    /// The unit of `seen` in ticks.
    const UNIT: Ticks = 1 << UNIT_BITS;

    #[test]
    fn an_entry_is_a_lower_bound_with_an_error() {
        let sets = sets(4);
        let cache = DenialCache::new(&sets);
        let hour = 3600 * TICKS_PER_SECOND;
        // The last number of a row is the greatest unit to which its bound may be rounded.
        for (bound, error, rounding) in [
            (NOW - 5, 0, 1 << 14),
            (NOW + 12_345_678, 33_000, 1 << 16),
            (NOW - 2 * hour, 70_000, 1 << 17),
            (NOW - 24 * hour, 70_000, 1 << 19),
            (NOW - 400 * 24 * hour, 1, 1 << 27),
            // The error would fit a unit of 2^15. But rounding the bound down to that unit would
            // add to the error, and the sum would not fit.
            (Timestamp((NOW.0 >> 16 << 16) + 20_000), 65_526, 1 << 16),
            (Timestamp(5), 0, 1 << 33),
            (Timestamp(3 << 60), 1 << 40, 1 << 40),
        ] {
            cache.record(77, bound, error, NOW);
            let entry = cache.find(77, NOW).expect("it was just recorded");
            assert!(entry.bound <= bound && bound - entry.bound < rounding);
            assert!(entry.bound + entry.error >= bound + error);
            assert!(entry.error <= 2 * rounding, "{bound:?}");
            let later = cache.find(77, NOW + TICKS_PER_SECOND).expect("still there");
            assert!(later.age >= TICKS_PER_SECOND);
            assert!(later.age <= TICKS_PER_SECOND + 2 * UNIT);
            // A restored state is recorded again and again. Its bound and its error must not
            // change.
            cache.record(77, entry.bound, entry.error, NOW + 1000);
            let again = cache.find(77, NOW + UNIT).expect("still there");
            assert_eq!((again.bound, again.error), (entry.bound, entry.error));
        }
        assert_eq!(cache.find(78, NOW), None);
    }

    #[test]
    fn the_age_of_an_entry_never_wraps_around() {
        let sets = sets(1);
        let cache = DenialCache::new(&sets);
        cache.record(77, NOW, 0, NOW);
        let year = 365 * 86_400 * TICKS_PER_SECOND;
        // Tries the ages from 2^34 ns to 2^58 ns, and a little more than each.
        for age in (34..=58).map(|exponent| 1 << exponent).chain([17 * year]) {
            for more in [0, UNIT, TICKS_PER_SECOND] {
                let entry = cache.find(77, NOW + age + more).expect("it is not removed");
                assert!(entry.age >= age, "{age} + {more}: {}", entry.age);
                assert!(entry.bound <= NOW && NOW - entry.bound < UNIT);
            }
        }
    }

    #[test]
    fn a_request_sent_before_a_set_was_cleared_records_nothing() {
        let sets = sets(1);
        let cache = DenialCache::new(&sets);
        cache.record(77, NOW, 0, NOW);
        cache.clear(77, NOW + 10);
        assert_eq!(cache.find(77, NOW), None);
        let later = NOW + TICKS_PER_SECOND;
        for (sent, stays) in [(NOW, false), (NOW + 10, false), (NOW + 10 + UNIT, true)] {
            cache.record(77, NOW, 0, sent);
            assert_eq!(cache.find(77, later).is_some(), stays, "{sent:?}");
        }
    }

    /// A worker may be killed after its stamp, or between the check of the stamp and the entry.
    #[test]
    fn the_stamp_alone_removes_an_entry() {
        let sets = sets(1);
        let cache = DenialCache::new(&sets);
        let later = NOW + TICKS_PER_SECOND;
        cache.record(77, NOW, 0, NOW);
        assert!(cache.find(77, later).is_some());
        sets[0].cleared_at.store((NOW + 10).0, Relaxed);
        assert_eq!(cache.find(77, later), None);
        sets[0].entries[0].store(pack(77, NOW, 0, NOW - 5), Relaxed);
        assert_eq!(cache.find(77, later), None);
        cache.record(77, NOW, 0, NOW + 10 + UNIT);
        assert!(cache.find(77, later).is_some());
    }

    #[test]
    fn a_state_that_is_seen_after_the_call_began_is_not_used() {
        let sets = sets(1);
        let cache = DenialCache::new(&sets);
        cache.record(77, NOW, 0, NOW + 2 * UNIT);
        assert_eq!(cache.find(77, NOW), None);
    }

    #[test]
    fn one_worker_at_a_time_has_the_lease_of_a_bucket() {
        let sets = sets(1);
        let cache = DenialCache::new(&sets);
        let length = TICKS_PER_SECOND;
        assert!(cache.lease(77, NOW, length));
        assert!(cache.is_leased(77) && !cache.is_leased(78));
        assert!(!cache.lease(77, NOW + length / 2, length));
        assert!(
            cache.lease(78, NOW, length),
            "no call waits for another bucket"
        );
        cache.release(78);
        assert!(!cache.lease(77, NOW, length));
        cache.release(77);
        assert!(cache.lease(77, NOW, length));
        assert!(!cache.lease(77, NOW + length, length), "the last instant");
        let later = NOW + length + 2 * UNIT;
        assert!(cache.lease(77, later, length), "the first was killed");
        assert!(!cache.lease(77, later, length));
    }

    #[test]
    fn any_word_can_be_unpacked() {
        let sets = sets(1);
        let cache = DenialCache::new(&sets);
        for byte in 0..=u8::MAX {
            let word = u128::from_le_bytes([byte; 16]);
            sets[0].entries[0].store(word, Relaxed);
            let now = EPOCH + (1 << 59);
            if let Some(entry) = cache.find(word, now) {
                assert!(entry.bound <= END && entry.error <= 2 << GREATEST_EXPONENT);
            }
            let entry = unpack(word, now);
            assert!(entry.bound <= END && entry.age <= EPOCH.0);
        }
    }

    #[test]
    fn the_entry_seen_longest_ago_is_replaced() {
        let sets = sets(1);
        let cache = DenialCache::new(&sets);
        for key in 1..=4u128 {
            // Of the first three keys, key 3 has the oldest state.
            let seen =
                NOW - Ticks::from(key != 4) * u64::try_from(key).expect("small") * TICKS_PER_SECOND;
            cache.record(key, NOW, 0, seen);
        }
        let found = [1, 2, 3, 4].map(|key| cache.find(key, NOW).is_some());
        assert_eq!(found, [true, true, false, true]);
    }

    #[test]
    fn buckets_use_all_sets() {
        let sets = sets(4);
        let cache = DenialCache::new(&sets);
        // The two highest bits of a hash choose one of four sets, and each set has three entries.
        let hashes = (0..12u128).map(|n| (n % 4) << 126 | (n + 1));
        for hash in hashes.clone() {
            cache.record(hash, NOW, 0, NOW);
        }
        for hash in hashes {
            assert!(cache.find(hash, NOW).is_some());
        }
    }
}
