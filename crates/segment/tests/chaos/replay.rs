//! Replays the journal and finds grants that a bucket did not hold.

use crate::board::Grant;
use gcra::{Ticks, Timestamp};
use segment::slots::word::Word;
use std::collections::{HashMap, HashSet};

/// The result of a replay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verdict {
    pub grants: u64,
    pub keys: u64,
    /// The number of grants for which the bucket did not hold enough tokens.
    pub violations: u64,
    /// The sum of the greatest excess of each key, in ticks.
    pub excess: Ticks,
}

/// Applies Lindley's recursion to the grants of each key, in the order of their instants.
///
/// The costs of grants at the same instant are added first, so their order does not matter.
pub fn replay(grants: impl Iterator<Item = Grant>, span: Ticks) -> Verdict {
    let mut of_keys: HashMap<u64, Vec<(Timestamp, Ticks)>> = HashMap::new();
    for grant in grants {
        let of_key = of_keys.entry(grant.key).or_default();
        of_key.push((grant.now, grant.cost));
    }
    let mut verdict = Verdict {
        keys: of_keys.len() as u64,
        ..Verdict::default()
    };
    for of_key in of_keys.values_mut() {
        of_key.sort_unstable();
        let mut empty_at = Timestamp::ZERO;
        let mut most = 0;
        for &(now, cost) in of_key.iter() {
            empty_at = (now - span).max(empty_at) + cost;
            let above = empty_at.saturating_since(now);
            verdict.violations += u64::from(above > 0);
            most = most.max(above);
        }
        verdict.grants += of_key.len() as u64;
        verdict.excess += most;
    }
    verdict
}

/// Returns the number of records for which an earlier slot holds a record of the same key.
pub fn twice_alive(words: &[Word]) -> usize {
    let mut seen = HashSet::new();
    let records = words.iter().filter(|word| !word.is_pending());
    records
        .filter(|&&word| word != Word::EMPTY && !seen.insert(word.tag >> 16))
        .count()
}
