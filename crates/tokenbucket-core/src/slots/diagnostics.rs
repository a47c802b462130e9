//! The identifiers that are denied most. They are kept only if the operator asks for them.
//!
//! Identifiers are personal data, so this part of a segment exists only on request, and no decision
//! ever reads it. Each shard holds a small sketch of the identifiers that are denied most
//! (Misra-Gries with direct-mapped entries). A hit raises its entry, a miss lowers it, and an entry
//! at zero is replaced. The identifiers that are denied most survive. Their counts are lower
//! bounds.

use super::counters::SHARDS;
use crate::key::Key;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of entries in the sketch of a shard.
const ENTRIES: usize = 64;
/// The bytes of an entry that hold an identifier: its length, then its beginning.
const PREFIX: usize = 48;

/// The diagnostic part of a segment.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct Diagnostics([[Entry; ENTRIES]; SHARDS]);

/// One identifier and its denials. Only the workers of one shard write to it. Torn reads are
/// harmless in a statistic.
#[repr(C, align(64))]
#[derive(Debug)]
struct Entry {
    hash: AtomicU64,
    denied: AtomicU64,
    prefix: [AtomicU64; PREFIX / 8],
}

impl Diagnostics {
    /// Notes a denial.
    #[cold]
    pub fn denied(&self, shard: usize, key: Key<'_>) {
        // The low half of a 128-bit hash is a hash, too.
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

    /// Returns the `most` identifiers with the most denials, greatest count first. An identifier is
    /// cut at 47 bytes. The count is a lower bound.
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
    /// Stores an identifier. The first byte is the length, and the others are the identifier's
    /// beginning.
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
