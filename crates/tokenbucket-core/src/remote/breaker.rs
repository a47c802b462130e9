//! Circuit breakers of remote stores: one cell a store, shared by all workers of the host.
//!
//! ```text
//! closed      calls go through; three failures in a row open it
//! open        no call goes through until an instant
//! half open   that instant has come: the worker that moves it on probes, the others stay away
//! ```
//!
//! A probe that fails doubles the time until the next, from 100 ms up to 4 s; chance shortens each, so
//! that hosts do not probe in step. Any success closes the breaker.
//!
//! Invariant: at most one worker at a time probes, and one that is killed meanwhile delays the next
//! probe by its lease, no longer. Every word is a plain atomic and any content is valid: the worst that
//! a lost race does is one call more to a store that is down.

use crate::clock::{TICKS_PER_SECOND, Ticks};
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// How many stores have a cell of their own; more share cells.
pub(crate) const CELLS: usize = 64;
/// Failures in a row that open a breaker.
const PATIENCE: u32 = 3;
const LEAST_PAUSE: Ticks = TICKS_PER_SECOND / 10;
const LONGEST_PAUSE: Ticks = 4 * TICKS_PER_SECOND;
const NAME: usize = 64;

/// The breakers of a host.
#[derive(Clone, Copy, Debug)]
pub struct Breakers<'a>(&'a [Breaker]);

/// The breaker of one store.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Breaker {
    /// A hash of the store's identity; 0 while the cell is free.
    store: AtomicU64,
    /// 0 while closed; else no call goes through before.
    open_until: AtomicU64,
    /// How long it was opened for.
    pause: AtomicU64,
    /// How often it has opened.
    openings: AtomicU64,
    /// In a row.
    failures: AtomicU32,
    /// Whether somebody has been warned since the store last answered.
    warned: AtomicU32,
    /// When somebody was last warned of a key that holds something else.
    warned_of_key_at: AtomicU64,
    name: [AtomicU64; NAME / 8],
}

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Call.
    Closed,
    /// Call, as the only one, to see whether the store is back.
    Probe,
    /// Do not call before this instant.
    Open(Ticks),
}

/// A breaker as it is seen by `status()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The store, as it may be shown.
    pub name: String,
    /// Failures in a row.
    pub failures: u32,
    /// How often it has opened.
    pub openings: u64,
    /// When the next call goes through, while it is open.
    pub open_until: Option<Ticks>,
}

impl<'a> Breakers<'a> {
    /// There are [`CELLS`] of them.
    pub(crate) const fn new(cells: &'a [Breaker]) -> Self {
        Self(cells)
    }

    /// Returns the breaker of `store`, a hash of its identity, shown as `name`.
    #[must_use]
    pub fn of(self, store: u64, name: &str) -> &'a Breaker {
        let store = store.max(1);
        // The rest is below the number of cells.
        #[allow(clippy::cast_possible_truncation)]
        let first = (store % CELLS as u64) as usize;
        let probes = (0..CELLS).map(|step| &self.0[(first + step) % CELLS]);
        for cell in probes {
            // Acquire: whoever sees the store sees its name.
            let owner = cell.store.load(Acquire);
            if owner == store {
                return cell;
            }
            if owner == 0 {
                match cell.store.compare_exchange(0, store, AcqRel, Acquire) {
                    Ok(_) => {
                        cell.set_name(name);
                        return cell;
                    }
                    Err(owner) if owner == store => return cell,
                    Err(_) => {}
                }
            }
        }
        // All taken: one that has nothing to tell changes hands, else one is shared. Its old store finds
        // another when it is used again.
        for cell in self.0 {
            let owner = cell.store.load(Acquire);
            let is_idle = cell.failures.load(Relaxed) == 0 && cell.open_until.load(Relaxed) == 0;
            if is_idle
                && cell
                    .store
                    .compare_exchange(owner, store, AcqRel, Acquire)
                    .is_ok()
            {
                cell.set_name(name);
                return cell;
            }
        }
        &self.0[first]
    }

    /// Every store that was used on this host.
    #[must_use]
    pub fn states(self) -> Vec<State> {
        let used = self.0.iter().filter(|cell| cell.store.load(Acquire) != 0);
        used.map(Breaker::state).collect()
    }
}

impl Breaker {
    /// Asks to call the store at `now`. A probe that is not reported within `lease` is taken for dead.
    #[inline]
    #[must_use]
    pub fn enter(&self, now: Ticks, lease: Ticks) -> Passage {
        // Relaxed: nothing else is read because of it.
        let open_until = self.open_until.load(Relaxed);
        if open_until == 0 {
            return Passage::Closed;
        }
        if now < open_until {
            return Passage::Open(open_until);
        }
        let leased = now.saturating_add(lease);
        match self
            .open_until
            .compare_exchange(open_until, leased, AcqRel, Relaxed)
        {
            Ok(_) => Passage::Probe,
            Err(0) => Passage::Closed,
            Err(other) => Passage::Open(other),
        }
    }

    /// The store answered, and did what it was asked to.
    #[inline]
    pub fn succeeded(&self) {
        self.answered();
        if self.warned.load(Relaxed) != 0 {
            self.warned.store(0, Relaxed);
        }
    }

    /// The store answered that it will not do what it was asked to, but would do others.
    #[inline]
    pub fn answered(&self) {
        // Only looked at in the common case: the line stays shared by all workers.
        if self.failures.load(Relaxed) != 0 || self.open_until.load(Relaxed) != 0 {
            self.failures.store(0, Relaxed);
            self.pause.store(0, Relaxed);
            self.open_until.store(0, Release);
        }
    }

    /// Nothing was learnt of the store, at `now`, by a call that had this `passage`: another may probe soon.
    pub fn unanswered(&self, passage: Passage, now: Ticks) {
        if passage == Passage::Probe {
            self.open_until.store(now + LEAST_PAUSE, Release);
        }
    }

    /// The store failed a call that had this `passage`, at `now`; whether that opened the breaker.
    ///
    /// `chance` is any number: it shortens the pause by up to a half.
    pub fn failed(&self, passage: Passage, now: Ticks, chance: u64) -> bool {
        let failures = self
            .failures
            .fetch_update(Relaxed, Relaxed, |failures| failures.checked_add(1))
            .map_or(u32::MAX, |failures| failures + 1);
        let until = |pause: Ticks| now + pause - chance % (pause / 2);
        match passage {
            Passage::Probe => {
                let last = self.pause.load(Relaxed);
                let pause = last.saturating_mul(2).clamp(LEAST_PAUSE, LONGEST_PAUSE);
                self.pause.store(pause, Relaxed);
                self.open_until.store(until(pause), Release);
                false
            }
            Passage::Closed if failures >= PATIENCE => {
                let opened = self
                    .open_until
                    .compare_exchange(0, until(LEAST_PAUSE), AcqRel, Relaxed)
                    .is_ok();
                if opened {
                    self.pause.store(LEAST_PAUSE, Relaxed);
                    self.openings.fetch_add(1, Relaxed);
                }
                opened
            }
            Passage::Closed | Passage::Open(_) => false,
        }
    }

    /// Whether this is the first failure to be told since the store last answered.
    #[must_use]
    pub fn warns(&self) -> bool {
        self.warned.load(Relaxed) == 0 && self.warned.swap(1, Relaxed) == 0
    }

    /// Whether a key that holds something else is to be told of, once a minute: it is no failure of the
    /// store's, and ends with none of its answers.
    #[must_use]
    pub fn warns_of_key(&self, now: Ticks) -> bool {
        let last = self.warned_of_key_at.load(Relaxed);
        let is_due = last == 0 || now.saturating_sub(last) >= 60 * TICKS_PER_SECOND;
        is_due
            && self
                .warned_of_key_at
                .compare_exchange(last, now, Relaxed, Relaxed)
                .is_ok()
    }

    fn set_name(&self, name: &str) {
        let mut bytes = [0; NAME];
        let kept = name.len().min(NAME);
        bytes[..kept].copy_from_slice(&name.as_bytes()[..kept]);
        for (word, chunk) in self.name.iter().zip(bytes.as_chunks().0) {
            // Relaxed: a name that is read half is only shown so.
            word.store(u64::from_le_bytes(*chunk), Relaxed);
        }
    }

    fn state(&self) -> State {
        let words = self
            .name
            .iter()
            .map(|word| word.load(Relaxed).to_le_bytes());
        let bytes: Vec<u8> = words.flatten().take_while(|&byte| byte != 0).collect();
        let open_until = self.open_until.load(Relaxed);
        State {
            name: String::from_utf8_lossy(&bytes).into_owned(),
            failures: self.failures.load(Relaxed),
            openings: self.openings.load(Relaxed),
            open_until: (open_until != 0).then_some(open_until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Ticks = TICKS_PER_SECOND / 20;

    #[test]
    fn three_failures_in_a_row_open_it() {
        let breaker = Breaker::default();
        for _ in 0..5 {
            assert!(!breaker.failed(Passage::Closed, 1, 0));
            assert!(!breaker.failed(Passage::Closed, 1, 0));
            breaker.succeeded();
        }
        for opened in [false, false, true, false] {
            assert_eq!(breaker.failed(Passage::Closed, 1, 0), opened);
        }
        assert_eq!(breaker.enter(2, LEASE), Passage::Open(1 + LEAST_PAUSE));
        assert_eq!(breaker.state().openings, 1);
    }

    #[test]
    fn one_probes_and_the_pause_doubles_up_to_its_limit() {
        let breaker = Breaker::default();
        for _ in 0..3 {
            breaker.failed(Passage::Closed, 0, 0);
        }
        let mut now = LEAST_PAUSE;
        let mut pause = LEAST_PAUSE;
        for _ in 0..10 {
            assert_eq!(breaker.enter(now, LEASE), Passage::Probe);
            assert_eq!(breaker.enter(now, LEASE), Passage::Open(now + LEASE));
            breaker.failed(Passage::Probe, now, 0);
            pause = (2 * pause).min(LONGEST_PAUSE);
            assert_eq!(breaker.enter(now, LEASE), Passage::Open(now + pause));
            now += pause;
        }
        assert_eq!(breaker.enter(now, LEASE), Passage::Probe);
        assert_eq!(
            breaker.enter(now + LEASE, LEASE),
            Passage::Probe,
            "the first has died"
        );
        breaker.succeeded();
        assert_eq!(breaker.enter(now, LEASE), Passage::Closed);
        assert_eq!(breaker.state().failures, 0);
    }

    #[test]
    fn chance_only_shortens() {
        for chance in [0, 1, 12_345, u64::MAX] {
            let breaker = Breaker::default();
            for _ in 0..3 {
                breaker.failed(Passage::Closed, 0, chance);
            }
            let Passage::Open(until) = breaker.enter(0, LEASE) else {
                panic!("it is closed")
            };
            assert!(until <= LEAST_PAUSE && until > LEAST_PAUSE / 2);
        }
    }

    #[test]
    fn one_warning_until_the_store_answers() {
        let breaker = Breaker::default();
        breaker.failed(Passage::Closed, 1, 0);
        assert!(breaker.warns() && !breaker.warns());
        breaker.succeeded();
        breaker.failed(Passage::Closed, 1, 0);
        assert!(breaker.warns() && !breaker.warns());
        for (seconds, warns) in [(1, true), (2, false), (60, false), (61, true)] {
            let now = seconds * TICKS_PER_SECOND;
            assert_eq!(breaker.warns_of_key(now), warns, "{seconds}");
        }
    }

    #[test]
    fn stores_have_cells_of_their_own_until_there_is_none() {
        let cells: [Breaker; CELLS] = std::array::from_fn(|_| Breaker::default());
        let breakers = Breakers::new(&cells);
        for store in 0..200u64 {
            let name = format!("store {store}");
            let cell = breakers.of(store * 64 + 3, &name);
            assert!(std::ptr::eq(cell, breakers.of(store * 64 + 3, "again")));
            assert_eq!(cell.state().name, name, "an idle cell changes hands");
        }
        assert_eq!(breakers.states().len(), CELLS);
        for cell in &cells {
            cell.failed(Passage::Closed, 1, 0);
        }
        let shared = breakers.of(1_000_000, "another");
        assert_ne!(shared.state().name, "another");
    }
}
