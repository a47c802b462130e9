//! Tests the diagnostics, which keep the identifiers that are denied most.

use crate::{SETTINGS, empties};
use segment::host::{Host, HostSettings};
use segment::memory::Segment;

fn tracking() -> Host {
    let settings = HostSettings {
        diagnostics: true,
        ..SETTINGS
    };
    Host::new(settings, Segment::memfd).unwrap()
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
    let counts = [("a", 2), ("b", 50), ("c", 7), ("d", 1)];
    for (name, times) in counts {
        deny(&store, name.as_bytes(), times);
    }
    let ranked = |index: usize| (counts[index].0.as_bytes().to_vec(), counts[index].1);
    assert_eq!(most_denied(&store, 3), [ranked(1), ranked(2), ranked(0)]);
}

#[test]
fn equal_identifiers_are_all_listed() {
    // Identifiers that take turns would lower each other's counts if they shared an entry.
    let store = tracking();
    let names: Vec<_> = (0..20)
        .map(|number| format!("client {number:02}"))
        .collect();
    for name in &names {
        empties(&store, name.as_bytes());
    }
    for _ in 0..100 {
        for name in &names {
            assert!(!empties(&store, name.as_bytes()));
        }
    }
    let expected: Vec<_> = names
        .iter()
        .map(|name| (name.clone().into_bytes(), 100))
        .collect();
    assert_eq!(most_denied(&store, 20), expected);
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
    // same set.
    assert!((500..=1000).contains(&worst[0].1), "{}", worst[0].1);
}

#[test]
fn a_long_identifier_is_cut() {
    let store = tracking();
    deny(&store, &[b'x'; 61], 2);
    assert_eq!(most_denied(&store, 1), [(vec![b'x'; 47], 2)]);
    let store = tracking();
    deny(&store, &[b'y'; 47], 2);
    assert_eq!(most_denied(&store, 1), [(vec![b'y'; 47], 2)]);
    let store = tracking();
    deny(&store, b"", 2);
    assert_eq!(most_denied(&store, 1), [(Vec::new(), 2)]);
}
