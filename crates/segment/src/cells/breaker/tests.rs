//! Tests one breaker, and the table of a host.

use super::*;
use gcra::boot_clock;
use std::collections::HashSet;

const START: Timestamp = Timestamp(1);
const LEASE: Ticks = TICKS_PER_SECOND / 20;

fn cells() -> [Breaker; CELLS] {
    array::from_fn(|_| Breaker::default())
}

fn open_at(breakers: Breakers<'_>, store: u64, now: Timestamp) {
    for _ in 0..PATIENCE {
        let cell = breakers.of(store, 0, "failing");
        cell.failed(Passage::Closed, now, 0);
    }
}

fn open(breakers: Breakers<'_>, store: u64) {
    open_at(breakers, store, boot_clock());
}

#[test]
fn a_failed_store_that_is_not_used_any_more_leaves_its_cell() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    for store in 1..=CELLS as u64 {
        open_at(breakers, store, boot_clock() - 2 * ABANDONED);
    }
    let cell = breakers.of(100, 0, "new");
    assert!(breakers.states().iter().any(|state| state.name == "new"));
    assert_eq!(cell.enter(START, LEASE), Passage::Closed);
    assert_eq!(cell.state().failures, 0);
}

#[test]
fn three_failures_in_a_row_open_it() {
    let breaker = Breaker::default();
    for _ in 0..5 {
        assert!(!breaker.failed(Passage::Closed, START, 0));
        assert!(!breaker.failed(Passage::Closed, START, 0));
        breaker.answered();
    }
    for opened in [false, false, true, false] {
        assert_eq!(breaker.failed(Passage::Closed, START, 0), opened);
    }
    assert_eq!(
        breaker.enter(START + 1, LEASE),
        Passage::Open(START + LEAST_PAUSE)
    );
    assert!(breaker.is_open(START + (LEAST_PAUSE - 1)));
    assert!(!breaker.is_open(START + LEAST_PAUSE));
    assert_eq!(breaker.state().openings, 1);
}

#[test]
fn one_probes_and_the_pause_doubles_up_to_its_limit() {
    let breaker = Breaker::default();
    for _ in 0..3 {
        breaker.failed(Passage::Closed, START, 0);
    }
    let mut now = START + LEAST_PAUSE;
    let mut pause = TICKS_PER_SECOND / 10;
    for _ in 0..10 {
        assert_eq!(breaker.enter(now, LEASE), Passage::Probe);
        assert_eq!(breaker.enter(now, LEASE), Passage::Open(now + LEASE));
        breaker.failed(Passage::Probe, now, 0);
        pause = (2 * pause).min(4_000_000_000);
        assert_eq!(breaker.enter(now, LEASE), Passage::Open(now + pause));
        now += pause;
    }
    assert_eq!(breaker.enter(now, LEASE), Passage::Probe);
    assert_eq!(
        breaker.enter(now + LEASE, LEASE),
        Passage::Probe,
        "the first has died"
    );
    breaker.answered();
    assert_eq!(breaker.enter(now, LEASE), Passage::Closed);
    assert_eq!(breaker.state().failures, 0);
}

#[test]
fn a_probe_without_a_result_lets_another_probe_soon() {
    let breaker = Breaker::default();
    for _ in 0..3 {
        breaker.failed(Passage::Closed, START, 0);
    }
    let now = START + LEAST_PAUSE;
    assert_eq!(breaker.enter(now, 100 * LEASE), Passage::Probe);
    // A call that entered while the breaker was closed does not end the lease.
    breaker.unanswered(Passage::Closed, now);
    let leased = Passage::Open(now + 100 * LEASE);
    assert_eq!(breaker.enter(now, LEASE), leased);
    breaker.unanswered(Passage::Probe, now);
    let soon = now + TICKS_PER_SECOND / 10;
    assert_eq!(breaker.enter(now, LEASE), Passage::Open(soon));
    assert_eq!(breaker.enter(soon, LEASE), Passage::Probe);
}

#[test]
fn chance_only_shortens() {
    for chance in [0, 1, 12_345, LEAST_PAUSE - 1, u64::MAX] {
        let breaker = Breaker::default();
        for _ in 0..3 {
            breaker.failed(Passage::Closed, START, chance);
        }
        let Passage::Open(until) = breaker.enter(START, LEASE) else {
            panic!("it is closed")
        };
        assert!(until <= START + LEAST_PAUSE && until > START + LEAST_PAUSE / 2);
    }
}

#[test]
fn each_kind_of_cause_warns_once_a_minute() {
    let breaker = Breaker::default();
    let at = |seconds: u64| Timestamp(seconds * TICKS_PER_SECOND);
    for (seconds, kind, warns) in [
        (1, CauseKind::Waiting, true),
        (2, CauseKind::Timeout, true),
        (3, CauseKind::Timeout, false),
        (4, CauseKind::Broken, true),
        (5, CauseKind::Connect, false),
        (61, CauseKind::Timeout, false),
        // A timeout was reported within the last minute.
        (61, CauseKind::Waiting, false),
        (62, CauseKind::Timeout, true),
        (63, CauseKind::Connect, false),
        (64, CauseKind::Connect, true),
        (65, CauseKind::Broken, false),
        (124, CauseKind::Waiting, true),
        (125, CauseKind::Waiting, false),
    ] {
        breaker.answered();
        assert_eq!(
            breaker.warns(kind, at(seconds)),
            warns,
            "{kind:?} {seconds}"
        );
    }
}

#[test]
fn failures_are_counted_by_kind() {
    let breaker = Breaker::default();
    let counted = |state: &BreakerState| {
        state
            .causes
            .into_iter()
            .filter(|it| it.1 != 0)
            .collect::<Vec<_>>()
    };
    let state = breaker.state();
    assert_eq!((&state.last, counted(&state)), (&None, vec![]));
    breaker.record(CauseKind::Caller, "first", START);
    breaker.record(CauseKind::Timeout, "second", START + 1);
    breaker.record(CauseKind::Timeout, &"x".repeat(100), START + 2);
    let state = breaker.state();
    assert_eq!(state.last, Some(("x".repeat(TEXT), START + 2)));
    assert_eq!(counted(&state), [("timeout", 2), ("caller", 1)]);
}

#[test]
fn an_evicted_store_leaves_no_warnings_to_the_next() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    for store in 1..=CELLS as u64 {
        let cell = breakers.of(store, 0, "old");
        for _ in 0..3 {
            cell.failed(Passage::Closed, boot_clock(), 0);
        }
        cell.record(CauseKind::Timeout, "old", START);
        cell.durations.record(1);
        assert!(cell.warns(CauseKind::Timeout, START));
        cell.answered();
    }
    let cell = breakers.of(1_000_000, 0, "new");
    let fresh = BreakerState {
        name: "new".to_owned(),
        ..Breaker::default().state()
    };
    assert_eq!(cell.state(), fresh);
    assert!(cell.warns(CauseKind::Timeout, START + 1));
}

#[test]
fn timeouts_share_a_cell_if_they_differ_little() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    let cell = |micros: Ticks| std::ptr::from_ref(breakers.of(7, micros * 1000, "seven"));
    assert_eq!(cell(50_000), cell(49_000));
    for other in [0, 10, 40_000, 60_000, 5_000_000] {
        assert_ne!(cell(50_000), cell(other), "{other}");
    }
    assert_eq!((class(1), class(9), class(u64::MAX)), (1, 8, 7 << 61));
}

#[test]
fn logins_that_differ_in_one_bit_have_cells_of_their_own() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    let cells = (0..CELLS - 1).map(|bit| breakers.of(1 << bit, 50_000_000, ""));
    let cells: HashSet<_> = cells.map(std::ptr::from_ref).collect();
    assert_eq!(cells.len(), CELLS - 1);
}

#[test]
fn stores_have_cells_of_their_own_until_there_is_none() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    for store in 0..200u64 {
        let name = format!("store {store}");
        let cell = breakers.of(store * 64 + 62, 0, &name);
        assert!(std::ptr::eq(cell, breakers.of(store * 64 + 62, 0, "again")));
        assert_eq!(cell.state().name, name, "an idle cell changes hands");
    }
    assert_eq!(breakers.states().len(), CELLS);
}

#[test]
fn a_new_store_takes_the_least_recently_used_cell() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    let enter = |store: u64, at| breakers.of(store, 0, "").enter(START + at, LEASE);
    for store in 1..=CELLS as u64 {
        enter(store, store);
    }
    enter(1, 1000);
    for (new, old) in [(100, 2), (101, 3)] {
        let cell = breakers.of(old, 0, "");
        assert!(std::ptr::eq(cell, breakers.of(new, 0, "")), "{new}");
    }
}

#[test]
fn a_store_that_failed_is_listed_while_calls_try_it() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    let names = |now| {
        let states = breakers.states_in_use(now);
        let mut names: Vec<_> = states.into_iter().map(|it| it.name).collect();
        names.sort();
        names
    };
    breakers.of(1, 0, "works");
    open_at(breakers, 2, START);
    assert_eq!(names(START + ABANDONED), ["failing", "works"]);
    let later = START + 2 * ABANDONED;
    assert_eq!(names(later), ["works"]);
    // A call tries it again, and fails.
    let cell = breakers.of(2, 0, "failing");
    assert_eq!(cell.enter(later, LEAST_PAUSE), Passage::Probe);
    cell.failed(Passage::Probe, later, 0);
    assert_eq!(names(later), ["failing", "works"]);
}

#[test]
fn a_store_that_failed_once_keeps_its_cell() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    let failing: Vec<_> = (1..=CELLS as u64)
        .map(|store| (store, breakers.of(store, 0, "")))
        .collect();
    for (_, breaker) in &failing {
        let now = boot_clock();
        breaker.record(CauseKind::Timeout, "", now);
        breaker.failed(Passage::Closed, now, 0);
    }
    breakers.of(100, 0, "");
    assert!(failing.iter().all(|(store, it)| it.is_of(*store, 0)));
    assert!(failing.iter().all(|(_, it)| !it.is_of(100, 0)));
}

#[test]
fn a_full_table_costs_only_stores_that_fail() {
    let (cells, own) = (cells(), cells());
    let breakers = Breakers::new(&cells, &own);
    let is_open = |store| breakers.of(store, 0, "").is_open(START);
    let many = 3 * CELLS as u64;
    for store in 1..=many {
        // A store that works never shares a cell with a store that fails.
        assert!(!is_open(1_000_000 + store), "{store}");
        open(breakers, store);
        assert!(is_open(store), "a new store has a breaker, too");
        assert!(!is_open(1_000_000), "{store}");
    }
    let opened = (1..=CELLS as u64).filter(|&store| is_open(store));
    assert_eq!(opened.count(), CELLS, "the shared cells stay");
    assert!(
        breakers
            .states()
            .iter()
            .all(|state| state.failures == PATIENCE)
    );
    // A store that recovers makes room for another one.
    breakers.of(7, 0, "").answered();
    open(breakers, many + 1);
    let names = |name: &str| {
        breakers
            .states()
            .iter()
            .filter(|it| it.name == name)
            .count()
    };
    assert_eq!(names("failing"), CELLS);
    assert!(is_open(many + 1));
}
