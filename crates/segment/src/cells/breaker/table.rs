//! The cells of a host's breakers, and which of them belongs to which store.

use super::{Breaker, BreakerState, owner};
use gcra::{Ticks, Timestamp, boot_clock};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The number of cells. If there are more stores than cells, a new store takes over the least
/// recently used cell of a store that works, or that failed and is not used any more. If there is
/// no such cell, the process keeps the breaker of the new store in memory of its own.
pub(crate) const CELLS: usize = 64;
#[derive(Clone, Copy, Debug)]
pub struct Breakers<'a> {
    /// The cells that all workers share.
    shared: &'a [Breaker],
    /// The cells of this process.
    own: &'a [Breaker],
}

impl<'a> Breakers<'a> {
    /// Wraps the cells that all workers share and those of this process. There must be [`CELLS`] of
    /// each.
    pub(crate) const fn new(shared: &'a [Breaker], own: &'a [Breaker]) -> Self {
        Self { shared, own }
    }

    /// Returns the breaker of a store for calls with this `timeout`. `login` is a hash of the
    /// store's identity and the credential, and `name` is the store's name for display.
    pub fn of(self, login: u64, timeout: Ticks, name: &str) -> &'a Breaker {
        let store = owner(login, timeout);
        // The remainder is below the number of cells.
        #[allow(clippy::cast_possible_truncation)]
        let first = (store % CELLS as u64) as usize;
        let claimed = claim(self.shared, store, first).or_else(|| claim(self.own, store, first));
        let (cell, is_new) = claimed.unwrap_or_else(|| {
            // All shared cells and all cells of this process belong to stores that fail. So the
            // store takes over a cell of this process, and its breaker starts closed.
            let cell = &self.own[first];
            cell.store.store(store, Release);
            (cell, true)
        });
        if is_new {
            cell.answered();
            cell.forget();
            cell.timeout.store(timeout, Relaxed);
            cell.used_at.store(boot_clock().0, Relaxed);
            cell.name.set(name);
        }
        cell
    }

    /// Returns the state of each shared cell.
    pub fn states(self) -> Vec<BreakerState> {
        self.states_if(|_| true)
    }

    /// Returns the states at `now` without those of stores that failed and are not used any more,
    /// because nothing shows whether these work again.
    pub fn states_in_use(self, now: Timestamp) -> Vec<BreakerState> {
        self.states_if(|cell| cell.is_idle() || !cell.is_abandoned(now))
    }

    fn states_if(self, is_listed: impl Fn(&Breaker) -> bool) -> Vec<BreakerState> {
        let is_free = |cell: &Breaker| cell.store.load(Acquire) == 0;
        let listed = self
            .shared
            .iter()
            .filter(|cell| !is_free(cell) && is_listed(cell));
        listed.map(Breaker::state).collect()
    }
}

/// Returns the cell of `store`, and true if the cell served another store or none before. The
/// search begins at the index `first`. Returns `None` if each cell belongs to another store that
/// fails.
fn claim(cells: &[Breaker], store: u64, first: usize) -> Option<(&Breaker, bool)> {
    for step in 0..CELLS {
        let cell = &cells[(first + step) % CELLS];
        // Acquire pairs with the exchange that reserves a cell. The process writes the name after
        // that exchange, so another process may read an unfinished name.
        let owner = cell.store.load(Acquire);
        if owner == store {
            return Some((cell, false));
        }
        if owner == 0 {
            match cell.store.compare_exchange(0, store, AcqRel, Acquire) {
                Ok(_) => return Some((cell, true)),
                Err(owner) if owner == store => return Some((cell, false)),
                Err(_) => {}
            }
        }
    }
    // Take over an idle cell, or one of a store that is not used any more. The previous store finds
    // another one when it is used again.
    let now = boot_clock();
    let is_free = |cell: &&Breaker| cell.is_idle() || cell.is_abandoned(now);
    let mut oldest_first: Vec<_> = cells.iter().collect();
    // Other processes change the instants meanwhile, so each one is read once.
    oldest_first.sort_by_cached_key(|cell| cell.used_at.load(Relaxed));
    let taken = oldest_first.into_iter().filter(is_free).find(|cell| {
        let owner = cell.store.load(Acquire);
        let exchange = cell.store.compare_exchange(owner, store, AcqRel, Acquire);
        exchange.is_ok()
    });
    taken.map(|cell| (cell, true))
}
