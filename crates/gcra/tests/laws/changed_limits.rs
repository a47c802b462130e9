//! Tests buckets whose limit changes while calls run.
//!
//! `S` is the greatest span of all limits. The costs of the calls that are granted in a window are
//! at most `S` plus the length of the window, in ticks of refill. Each limit keeps its own bound,
//! too: a change adds at most one capacity of the old limit, and calls that alternate get at most
//! the sum of both bounds. A bucket that is full under every limit that took from it is full under
//! every other limit, too.

use crate::tried;
use gcra::{Key, KeyHasher, MemoryStore, Step, Ticks, Timestamp};
use proptest::prelude::*;

/// A call: the ticks since the previous call, the limit, and the cost in percent of its span.
type Call = (Ticks, usize, Ticks);

const SPANS: [Ticks; 3] = [100, 1_000, 30_000];

fn key() -> Key<'static> {
    KeyHasher::new([1, 2]).key(b"customer")
}

fn histories() -> impl Strategy<Value = Vec<Call>> {
    let gap = prop_oneof![4 => 0..60u64, 2 => 0..2_000u64, 1 => 0..40_000u64];
    let cost = prop_oneof![3 => 1..=100u64, 1 => Just(100)];
    prop::collection::vec((gap, 0..SPANS.len(), cost), 1..60)
}

/// A bucket without `empty_at` and without a record. It keeps every grant.
#[derive(Default)]
struct Granted(Vec<(Timestamp, Ticks, Ticks)>);

impl Granted {
    /// Returns the ticks that the bucket lacks at `now`, by the definition: each grant takes its
    /// cost, each tick gives one back, and a bucket that is full under all spans starts anew.
    fn lacks(&self, span: Ticks, now: Timestamp) -> Ticks {
        // The instant at which the bucket was empty, and the greatest span since it was full.
        let (mut empty_at, mut greatest) = (None, 0);
        for &(at, cost, span) in &self.0 {
            if empty_at.is_some_and(|empty_at: Timestamp| empty_at + greatest <= at) {
                (empty_at, greatest) = (None, 0);
            }
            let full = at - span;
            empty_at = Some(empty_at.map_or(full, |it| it.max(full)) + cost);
            greatest = greatest.max(span);
        }
        match empty_at {
            Some(empty_at) if empty_at + greatest > now => (empty_at + span).saturating_since(now),
            _ => 0,
        }
    }
}

/// Runs the calls on the store, and returns the grants: instant, cost and span. Fails with the
/// first decision that differs from the definition.
fn run(calls: &[Call]) -> Result<Granted, TestCaseError> {
    let store = MemoryStore::default();
    let mut granted = Granted::default();
    for &(gap, limit, percent) in calls {
        store.advance(gap);
        let span = SPANS[limit];
        let cost = span * percent / 100;
        let (now, lacks) = (store.now(), granted.lacks(span, store.now()));
        let outcome = store.take(key(), &Step::new(cost, span), None);
        prop_assert_eq!(
            outcome.granted(),
            lacks + cost <= span,
            "{} lacks {}",
            cost,
            lacks
        );
        if outcome.granted() {
            granted.0.push((now, cost, span));
        }
    }
    Ok(granted)
}

proptest! {
    #![proptest_config(tried(400))]

    #[test]
    fn a_window_grants_the_greatest_span_and_its_length(calls in histories()) {
        let Granted(granted) = run(&calls)?;
        for first in 0..granted.len() {
            let (mut sum, mut greatest, mut own) = (0, 0, [0; SPANS.len()]);
            for &(at, cost, span) in &granted[first..] {
                (sum, greatest) = (sum + cost, greatest.max(span));
                let length = at - granted[first].0;
                prop_assert!(sum <= greatest + length, "{} > {} + {}", sum, greatest, length);
                let limit = SPANS.iter().position(|&it| it == span).expect("one of them");
                own[limit] += cost;
                prop_assert!(own[limit] <= span + length, "{} > {} + {}", own[limit], span, length);
            }
        }
    }
}
