//! The identifiers that are denied most. The segment keeps them only if the operator enables
//! diagnostics.
//!
//! Identifiers can be personal data, so they are not kept by default. No decision depends on them.
//!
//! Each shard holds a small sketch of the identifiers that are denied most. The algorithm is
//! Misra-Gries with direct-mapped entries. Each denial selects one entry of the sketch by the hash
//! of the identifier. If the entry has the same hash, its count is raised. Otherwise its count is
//! lowered. An entry with the count 0 is replaced. The identifiers that are denied most stay in the
//! sketch. Their counts are lower bounds.

use super::counters::SHARDS;
use crate::key::Key;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of entries in the sketch of a shard.
const ENTRIES: usize = 64;
/// The number of bytes in an entry for an identifier: one for the length, and 47 for the first
/// bytes.
const PREFIX: usize = 48;

/// The diagnostic part of a segment.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Diagnostics([[Entry; ENTRIES]; SHARDS]);

/// One identifier and the number of its denials. Only the processes of one shard write to an entry.
/// A reader may read an entry that is half written, which is harmless in a statistic.
#[repr(C, align(64))]
#[derive(Debug)]
struct Entry {
    hash: AtomicU64,
    denied: AtomicU64,
    prefix: [AtomicU64; PREFIX / 8],
}

impl Diagnostics {
    /// Adds a denial of `key` to the sketch of `shard`.
    #[cold]
    pub fn denied(&self, shard: usize, key: Key<'_>) {
        // The low half of a 128-bit hash is a good hash, too.
        #[allow(clippy::cast_possible_truncation)]
        let hash = key.hash as u64;
        // The remainder is below the number of entries.
        #[allow(clippy::cast_possible_truncation)]
        let entry = &self.0[shard][hash as usize % ENTRIES];
        let denied = entry.denied.load(Relaxed);
        if entry.hash.load(Relaxed) == hash {
            entry.denied.store(denied.saturating_add(1), Relaxed);
        } else if denied == 0 {
            entry.hash.store(hash, Relaxed);
            entry.denied.store(1, Relaxed);
            entry.name(key.identifier);
        } else {
            entry.denied.store(denied - 1, Relaxed);
        }
    }

    /// Returns at most `most` identifiers with the most denials, greatest count first. Only the
    /// first 47 bytes of an identifier are returned. The counts are lower bounds.
    #[must_use]
    pub fn most_denied(&self, most: usize) -> Vec<(Vec<u8>, u64)> {
        let mut sums: HashMap<u64, (Vec<u8>, u64)> = HashMap::new();
        for entry in self.0.iter().flatten() {
            let denied = entry.denied.load(Relaxed);
            if denied > 0 {
                let sum = sums
                    .entry(entry.hash.load(Relaxed))
                    .or_insert_with(|| (entry.identifier(), 0));
                sum.1 = sum.1.saturating_add(denied);
            }
        }
        let mut worst: Vec<_> = sums.into_values().collect();
        worst.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        worst.truncate(most);
        worst
    }
}

impl Entry {
    /// Stores the length of the identifier in the first byte, and the identifier's first 47 bytes
    /// in the other bytes.
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

    fn identifier(&self) -> Vec<u8> {
        let words = self.prefix.iter();
        let mut bytes = words.flat_map(|word| word.load(Relaxed).to_le_bytes());
        let length = usize::from(bytes.next().unwrap_or_default());
        bytes.take(length).collect()
    }
}
