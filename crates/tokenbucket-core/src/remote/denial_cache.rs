//! The denial cache: the last states that this host received of buckets in remote stores.
//!
//! A bucket's `empty_at` is the instant at which it was, or will be, empty. A step only moves that
//! instant forward. So an instant that a host has received once stays a lower bound. The host may
//! deny from this bound without contacting the store. An entry holds the bound on this host's
//! clock, the instant at which the host received the state (`seen`), and the error of the bound.
//! The cache has memory of its own, so an entry never evicts a bucket. A lost entry causes one more
//! round trip.
//!
//! ```text
//! set    cleared_at: 64 bits | unused: 64 bits | three entries
//! entry  fingerprint: 48 bits | seen: 22 bits | error: 6 bits | bound: 52 bits
//! ```
//!
//! Refunds and resets move `empty_at` back. After the store has executed a refund or reset, the
//! worker writes the current instant, the stamp, to the set's `cleared_at`. Replies to requests
//! that were sent before the stamp are not recorded in the set.
//!
//! Invariant: after the stamp, no entry remains that comes from an earlier request. The worker that
//! records writes its entry and then reads the stamp. The worker that clears writes the stamp and
//! then looks for the entry. Both workers execute a sequentially consistent fence between their two
//! accesses. So at least one worker reads the other's write and removes the entry.

use crate::clock::Ticks;
use portable_atomic::AtomicU128;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, SeqCst},
    fence,
};

const ENTRIES: usize = 3;
const FINGERPRINT_MASK: u128 = (1 << 48) - 1;
const SEEN_BITS: u32 = 22;
/// The exponent of the unit of `seen`: 2^24 ns (17 ms). The number wraps around after 19 hours.
const SEEN_UNIT: u32 = 24;
const SEEN_MASK: u64 = (1 << SEEN_BITS) - 1;
const ERROR_BITS: u32 = 6;
/// The exponent of the greatest error: 2^40 ns (18 minutes), which is longer than any call takes.
const GREATEST_ERROR: u32 = 40;
/// The exponent of the unit of the bound: 2^10 ns. The bound is rounded down.
const BOUND_UNIT: u32 = 10;

/// A set of three entries, and the instant at which an entry of the set was last cleared.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct EntrySet {
    cleared_at: AtomicU64,
    unused: AtomicU64,
    entries: [AtomicU128; ENTRIES],
}

/// The last state that this host received of a bucket in a remote store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The bucket's `empty_at` on this host's clock, or a little earlier.
    pub bound: Ticks,
    /// The ticks by which `empty_at` may be later than the bound.
    pub error: Ticks,
    /// The ticks since this host received the state, rounded up.
    pub age: Ticks,
}

/// The denial cache of a host.
#[derive(Clone, Copy, Debug)]
pub struct DenialCache<'a>(&'a [EntrySet]);

impl<'a> DenialCache<'a> {
    /// Wraps `sets`, of which there must be at least one.
    pub(crate) const fn new(sets: &'a [EntrySet]) -> Self {
        Self(sets)
    }

    // The casts keep only the bits that are needed.
    #[allow(clippy::cast_possible_truncation)]
    fn set(&self, hash: u128) -> &'a EntrySet {
        let bits = u64::from((hash >> 96) as u32);
        &self.0[((bits * self.0.len() as u64) >> 32) as usize]
    }

    /// Returns the entry of the bucket with this hash, with its age at `now`.
    #[inline]
    #[must_use]
    pub fn find(&self, hash: u128, now: Ticks) -> Option<Entry> {
        let fingerprint = fingerprint(hash);
        let entries = &self.set(hash).entries;
        // Relaxed: an entry is a single word, and no other access depends on this read.
        let word = entries.iter().map(|slot| slot.load(Relaxed));
        let word = word
            .into_iter()
            .find(|word| word & FINGERPRINT_MASK == fingerprint)?;
        Some(unpack(word, now))
    }

    /// Records that the bucket's `empty_at` was at least `bound` and at most `bound + error`. The
    /// request that returned this state was sent at `sent`. Records nothing if the set has been
    /// cleared since then.
    pub fn record(&self, hash: u128, bound: Ticks, error: Ticks, sent: Ticks) {
        let set = self.set(hash);
        let word = pack(fingerprint(hash), bound, error, sent);
        let slot = set.place(word, sent);
        let old = slot.load(Relaxed);
        // If another worker has just written to this place, keep that worker's entry, because it is
        // as recent.
        if slot.compare_exchange(old, word, AcqRel, Relaxed).is_err() {
            return;
        }
        fence(SeqCst);
        if set.cleared_at.load(Acquire) >= sent {
            slot.compare_exchange(word, 0, AcqRel, Relaxed).ok();
        }
    }

    /// Removes the bucket's entry. From then on, [`DenialCache::record`] ignores the replies to
    /// requests that were sent up to `now`.
    pub fn clear(&self, hash: u128, now: Ticks) {
        let set = self.set(hash);
        set.cleared_at.fetch_max(now, AcqRel);
        fence(SeqCst);
        for slot in &set.entries {
            let word = slot.load(Acquire);
            if word & FINGERPRINT_MASK == fingerprint(hash) {
                // If this fails, another worker has changed the entry. If that worker wrote a new
                // entry, the worker reads the stamp after that.
                slot.compare_exchange(word, 0, AcqRel, Relaxed).ok();
            }
        }
    }
}

impl EntrySet {
    /// Returns the place of a new entry: an older entry of the same bucket, otherwise the oldest
    /// entry.
    fn place(&self, word: u128, now: Ticks) -> &AtomicU128 {
        let mut oldest = (&self.entries[0], 0);
        for slot in &self.entries {
            let other = slot.load(Relaxed);
            if other & FINGERPRINT_MASK == word & FINGERPRINT_MASK {
                return slot;
            }
            let age = if other == 0 {
                Ticks::MAX
            } else {
                unpack(other, now).age
            };
            if age > oldest.1 {
                oldest = (slot, age);
            }
        }
        oldest.0
    }
}

/// Returns 48 bits of the hash that do not choose the set. The result is never 0.
const fn fingerprint(hash: u128) -> u128 {
    let bits = hash & FINGERPRINT_MASK;
    if bits == 0 { 1 } else { bits }
}

fn pack(fingerprint: u128, bound: Ticks, error: Ticks, seen: Ticks) -> u128 {
    let seen = (seen >> SEEN_UNIT) & SEEN_MASK;
    // Round up to a power of two, within the greatest error.
    let error = error.clamp(1, 1 << GREATEST_ERROR).next_power_of_two();
    let error = u64::from(error.trailing_zeros());
    // The mask loses nothing, because instants on this host are below 2^62.
    let bound = (bound >> BOUND_UNIT) & ((1 << 52) - 1);
    fingerprint
        | u128::from(seen) << 48
        | u128::from(error) << (48 + SEEN_BITS)
        | u128::from(bound) << (48 + SEEN_BITS + ERROR_BITS)
}

// The casts keep only the bits that are needed.
#[allow(clippy::cast_possible_truncation)]
fn unpack(word: u128, now: Ticks) -> Entry {
    let seen = (word >> 48) as u64 & SEEN_MASK;
    let error = (word >> (48 + SEEN_BITS)) as u32 & ((1 << ERROR_BITS) - 1);
    let bound = (word >> (48 + SEEN_BITS + ERROR_BITS)) as u64;
    let units = (now >> SEEN_UNIT).wrapping_sub(seen) & SEEN_MASK;
    Entry {
        bound: bound << BOUND_UNIT,
        // Add the error that comes from rounding the bound down.
        error: (1 << error.min(GREATEST_ERROR)) + (1 << BOUND_UNIT),
        // Round up, because the host received the state at some time within its unit.
        age: (units + 1) << SEEN_UNIT,
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;
    use crate::clock::{EPOCH, TICKS_PER_SECOND};

    const NOW: Ticks = EPOCH + 123 * TICKS_PER_SECOND;

    fn sets(count: usize) -> Vec<EntrySet> {
        std::iter::repeat_with(EntrySet::default)
            .take(count)
            .collect()
    }

    #[test]
    fn an_entry_is_a_lower_bound_with_an_error() {
        let sets = sets(4);
        let cache = DenialCache::new(&sets);
        for (bound, error) in [
            (NOW - 5, 0),
            (NOW + 12_345_678, 33_000),
            (EPOCH * 3, 1 << 40),
        ] {
            cache.record(77, bound, error, NOW);
            let entry = cache.find(77, NOW).expect("it was just recorded");
            assert!(entry.bound <= bound && bound - entry.bound < 1 << BOUND_UNIT);
            assert!(entry.bound + entry.error >= bound + error);
            let later = cache.find(77, NOW + TICKS_PER_SECOND).expect("still there");
            assert!(later.age >= TICKS_PER_SECOND);
            assert!(later.age <= TICKS_PER_SECOND + (2 << SEEN_UNIT));
        }
        assert_eq!(cache.find(78, NOW), None);
    }

    #[test]
    fn a_request_sent_before_a_set_was_cleared_records_nothing() {
        let sets = sets(1);
        let cache = DenialCache::new(&sets);
        cache.record(77, NOW, 0, NOW);
        cache.clear(77, NOW + 10);
        assert_eq!(cache.find(77, NOW), None);
        for (sent, stays) in [(NOW, false), (NOW + 10, false), (NOW + 11, true)] {
            cache.record(77, NOW, 0, sent);
            assert_eq!(cache.find(77, NOW).is_some(), stays, "{sent}");
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
}
