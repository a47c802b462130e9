//! The identifiers that are denied most. The segment keeps them only if the operator enables
//! diagnostics.
//!
//! Identifiers can be personal data, so they are not kept by default. No decision depends on them.
//!
//! Each shard holds a small sketch of the identifiers that are denied most. The algorithm is
//! Misra-Gries in sets of entries: the hash of a denied identifier selects a set. An entry of this
//! set with the same hash counts one more. Otherwise the identifier replaces an entry with a count
//! of 0. If no entry has one, the counts of all entries of the set are lowered by 1. An identifier
//! with more than a 17th of the denials of its set stays in the sketch. Its count is a lower bound.

use super::counters::SHARDS;
use gcra::{Key, Row};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of sets in the sketch of a shard.
const SETS: usize = 4;
/// The number of entries in a set. A denial reads all of them, so more entries cost time.
const WAYS: usize = 16;
/// The number of bytes in an entry for an identifier: one for the length, and 47 for the first
/// bytes.
const PREFIX: usize = 48;

/// The diagnostic part of a segment.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Diagnostics([[[DenialCount; WAYS]; SETS]; SHARDS]);

/// One identifier and the number of its denials. Only the processes of one shard write to an entry.
/// A reader may read an entry that is half written, which is harmless in a statistic.
#[repr(C, align(64))]
#[derive(Debug)]
struct DenialCount {
    hash: AtomicU64,
    /// The row of the key in the upper 8 bits, and the number of denials in the lower bits.
    denied: AtomicU64,
    prefix: [AtomicU64; PREFIX / 8],
}

/// An identifier that is denied often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The first 47 bytes of the identifier.
    pub identifier: Vec<u8>,
    /// The row of the identifier's namespace.
    pub row: Row,
    /// A lower bound of the number of denials.
    pub denied: u64,
}

/// The bits of [`DenialCount::denied`] below the row.
const COUNT: u64 = (1 << ROW_SHIFT) - 1;
const ROW_SHIFT: u32 = 56;

impl Diagnostics {
    /// Adds a denial of `key` to the sketch of `shard`.
    #[cold]
    pub fn denied(&self, shard: usize, key: Key<'_>) {
        // The low half of a 128-bit hash is a good hash, too.
        #[allow(clippy::cast_possible_truncation)]
        let hash = key.hash as u64;
        // The remainder is below the number of sets.
        #[allow(clippy::cast_possible_truncation)]
        let set = &self.0[shard][hash as usize % SETS];
        let is_its_own =
            |entry: &&DenialCount| entry.count() > 0 && entry.hash.load(Relaxed) == hash;
        if let Some(entry) = set.iter().find(is_its_own) {
            // A counter of 56 bits does not overflow: at a billion denials a second, it lasts for
            // two years.
            let denied = entry.denied.load(Relaxed);
            entry.denied.store(denied.wrapping_add(1), Relaxed);
        } else if let Some(entry) = set.iter().find(|entry| entry.count() == 0) {
            entry.hash.store(hash, Relaxed);
            let row = u64::from(key.row.0) << ROW_SHIFT;
            entry.denied.store(row | 1, Relaxed);
            entry.name(key.identifier);
        } else {
            for entry in set {
                // Another process of the shard may have lowered the count meanwhile.
                let denied = entry.denied.load(Relaxed);
                let lowered = denied - u64::from(denied & COUNT > 0);
                entry.denied.store(lowered, Relaxed);
            }
        }
    }

    /// Returns at most `most` identifiers with the most denials, greatest count first.
    pub fn most_denied(&self, most: usize) -> Vec<Denied> {
        let mut sums: HashMap<u64, Denied> = HashMap::new();
        for entry in self.0.iter().flatten().flatten() {
            let word = entry.denied.load(Relaxed);
            if word & COUNT > 0 {
                let hash = entry.hash.load(Relaxed);
                let sum = sums.entry(hash).or_insert_with(|| entry.identified(word));
                sum.denied = sum.denied.saturating_add(word & COUNT);
            }
        }
        let mut worst: Vec<_> = sums.into_values().collect();
        worst.sort_by(|a, b| (b.denied, &a.identifier).cmp(&(a.denied, &b.identifier)));
        worst.truncate(most);
        worst
    }
}

impl DenialCount {
    fn count(&self) -> u64 {
        self.denied.load(Relaxed) & COUNT
    }

    /// Stores the identifier's first 47 bytes, and before them their number in one byte.
    fn name(&self, identifier: &[u8]) {
        let kept = &identifier[..identifier.len().min(PREFIX - 1)];
        let mut bytes = [0; PREFIX];
        // The length is at most 47.
        bytes[0] = u8::try_from(kept.len()).unwrap_or_default();
        bytes[1..=kept.len()].copy_from_slice(kept);
        for (word, chunk) in self.prefix.iter().zip(bytes.chunks_exact(8)) {
            let chunk = chunk.try_into().unwrap_or_default();
            word.store(u64::from_le_bytes(chunk), Relaxed);
        }
    }

    /// Returns the identifier and its row, with 0 denials. `word` was read from `denied` and holds
    /// the row.
    fn identified(&self, word: u64) -> Denied {
        let words = self.prefix.iter();
        let mut bytes = words.flat_map(|word| word.load(Relaxed).to_le_bytes());
        let length = usize::from(bytes.next().unwrap_or_default());
        Denied {
            identifier: bytes.take(length).collect(),
            // The cast keeps the upper 8 bits.
            #[allow(clippy::cast_possible_truncation)]
            row: Row((word >> ROW_SHIFT) as u32),
            denied: 0,
        }
    }
}
