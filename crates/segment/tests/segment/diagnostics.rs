//! Tests the diagnostics, which keep the identifiers that are denied most.

use crate::{SETTINGS, empties};
use segment::host::{Host, HostSettings};
use segment::memory::Segment;
use std::collections::HashSet;

/// The number of direct-mapped entries in the sketch of a shard.
const ENTRIES: u128 = 64;

fn tracking() -> Host {
    let settings = HostSettings {
        diagnostics: true,
        ..SETTINGS
    };
    Host::new(settings, Segment::memfd).unwrap()
}

/// Returns `count` identifiers that begin with `prefix` and have different entries.
fn apart(store: &Host, prefix: &str, count: usize) -> Vec<Vec<u8>> {
    let mut taken = HashSet::new();
    let names = (0..).map(|number| format!("{prefix}{number}").into_bytes());
    let lone = |name: &Vec<u8>| taken.insert(store.slots().hasher().key(name).hash % ENTRIES);
    names.filter(lone).take(count).collect()
}

fn deny(store: &Host, name: &[u8], times: u64) {
    empties(store, name);
    for _ in 0..times {
        assert!(!empties(store, name));
    }
}

fn most_denied(store: &Host, most: usize) -> Vec<(Vec<u8>, u64)> {
    let denied = store.slots().diagnostics().unwrap().most_denied(most);
    let pairs = denied.into_iter().map(|one| (one.identifier, one.denied));
    pairs.collect()
}

#[test]
fn the_worst_come_first() {
    let store = tracking();
    assert!(most_denied(&store, 10).is_empty());
    let names = apart(&store, "client ", 4);
    for (name, times) in names.iter().zip([2, 50, 7, 1]) {
        deny(&store, name, times);
    }
    let ranked = |index: usize, times| (names[index].clone(), times);
    let worst = most_denied(&store, 3);
    assert_eq!(worst, [ranked(1, 50), ranked(2, 7), ranked(0, 2)]);
}

#[test]
fn a_heavy_hitter_is_not_driven_out_by_a_crowd() {
    let store = tracking();
    deny(&store, b"heavy", 1000);
    for number in 0..500u32 {
        deny(&store, &number.to_le_bytes(), 1);
    }
    let worst = most_denied(&store, 1);
    assert_eq!(worst[0].0, b"heavy");
    // A count is a lower bound. It is too low by at most the denials of other identifiers in the
    // same entry.
    assert!((500..=1000).contains(&worst[0].1), "{}", worst[0].1);
}

#[test]
fn a_long_identifier_is_cut() {
    let store = tracking();
    let names = apart(&store, &"x".repeat(60), 1);
    deny(&store, &names[0], 2);
    assert_eq!(most_denied(&store, 1), [(vec![b'x'; 47], 2)]);
    let exact = apart(&tracking(), &"y".repeat(46), 1);
    let store = tracking();
    deny(&store, &exact[0], 2);
    assert_eq!(most_denied(&store, 1), [(exact[0].clone(), 2)]);
    let store = tracking();
    deny(&store, b"", 2);
    assert_eq!(most_denied(&store, 1), [(Vec::new(), 2)]);
}
