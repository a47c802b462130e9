//! Assertions on the outcomes of a key's calls. They must hold in every interleaving.

use crate::memory::{ABANDONED, K, Memory, Y, at};
use gcra::{Denial, Outcome, Step, Ticks, Timestamp, Verdict};
use segment::slots::word::Fingerprint;
use std::sync::Arc;

/// The grants of one key: the instant and the cost of each grant.
pub type Grants = Vec<(Timestamp, Ticks)>;

/// Returns the grants among the `outcomes` of calls that cost `cost` each. A killed call has no
/// outcome and counts as no grant.
///
/// Panics if a call was denied as contended.
pub fn grants(cost: Ticks, outcomes: &[Option<Outcome>]) -> Grants {
    let outcomes = outcomes.iter().flatten();
    outcomes
        .inspect(|outcome| {
            let contended = Verdict::Denied(Denial::Contended);
            assert_ne!(outcome.verdict, contended, "a livelock");
        })
        .filter(|outcome| outcome.granted())
        .map(|outcome| (outcome.now, cost))
        .collect()
}

/// Returns the greatest number of ticks by which `grants` exceed what the bucket held. The bucket
/// starts in the state `empty_at`.
///
/// Lindley's recursion computes this number. It applies the grants to the bucket in the order of
/// their instants.
pub fn excess(mut empty_at: Timestamp, mut grants: Grants, span: Ticks) -> Ticks {
    grants.sort_unstable();
    let mut most = 0;
    for (now, cost) in grants {
        empty_at = empty_at.max(now - span) + cost;
        most = most.max(empty_at.saturating_since(now));
    }
    most
}

/// Asserts that `grants` do not exceed what the bucket held. The bucket starts in the state
/// `empty_at`.
pub fn assert_bounded(empty_at: Timestamp, grants: &Grants, span: Ticks) {
    let excess = excess(empty_at, grants.clone(), span);
    assert_eq!(excess, 0, "more than the bucket held: {grants:?}");
}

/// Asserts that each denial is correct. A denial is correct if the grants up to its instant left
/// too few tokens. The bucket starts in the state `empty_at`. All calls cost `cost`.
pub fn assert_explained(
    empty_at: Timestamp,
    cost: Ticks,
    span: Ticks,
    outcomes: &[Option<Outcome>],
) {
    let denied = Verdict::Denied(Denial::Insufficient);
    let denials = outcomes
        .iter()
        .flatten()
        .filter(|one| one.verdict == denied);
    for denial in denials {
        let mut earlier = grants(cost, outcomes);
        earlier.retain(|&(now, _)| now <= denial.now);
        earlier.push((denial.now, cost));
        let excess = excess(empty_at, earlier, span);
        assert!(excess > 0, "a false denial: {outcomes:?}");
    }
}

/// Asserts that no key is blocked. Much later, the bucket of each key must be full and grant
/// exactly its capacity.
pub fn assert_nobody_is_blocked(memory: &Arc<Memory>, keys: &[Fingerprint]) {
    memory.until(at(2 * ABANDONED));
    for &key in keys {
        let caller = memory.caller(key);
        let step = Step::new(10, 10);
        let first = caller.take(step.cost, step.span).expect("nobody is killed");
        assert_eq!(first.verdict, Verdict::Granted, "blocked");
        let second = caller.take(step.cost, step.span).expect("nobody is killed");
        assert_eq!(second.verdict, Verdict::Denied(Denial::Insufficient));
    }
    for key in [K, Y] {
        memory.record(key);
    }
}
