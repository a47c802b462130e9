//! First states, proposed while a storage's `consume()` runs its bootstrap closure.
//!
//! If a closure calls `bootstrap()` on the storage, nothing is written: the state is only proposed.
//! The record is made after the closure has returned true, and the tokens are taken in the same
//! step. If another call has made a record meanwhile, that record wins. So a slow closure can never
//! refill a drained bucket.

use crate::zend::system;
use std::cell::{Cell, RefCell};
use tokenbucket_core::Ticks;

/// The closures that are running. Fibers may interleave them, so they may end in any order.
#[derive(Debug, Default)]
pub struct Proposals {
    open: RefCell<Vec<Proposal>>,
    next: Cell<u64>,
}

#[derive(Debug)]
struct Proposal {
    number: u64,
    /// The fiber that the closure runs in.
    fiber: usize,
    identifier: Box<[u8]>,
    first: Option<Ticks>,
}

impl Proposals {
    /// Registers a closure that is about to run for this bucket. Returns the number for `close`.
    pub fn open(&self, identifier: &[u8]) -> u64 {
        let number = self.next.get();
        self.next.set(number.wrapping_add(1));
        self.open.borrow_mut().push(Proposal {
            number,
            fiber: system::fiber(),
            identifier: identifier.into(),
            first: None,
        });
        number
    }

    /// Unregisters a closure that has returned. Returns the state that it proposed, if any.
    pub fn close(&self, number: u64) -> Option<Ticks> {
        let mut open = self.open.borrow_mut();
        let place = open
            .iter()
            .rposition(|proposal| proposal.number == number)?;
        open.remove(place).first
    }

    /// Proposes a first state to the latest closure that runs for this bucket, preferably in this
    /// fiber. Returns false if there is none.
    pub fn propose(&self, identifier: &[u8], first: Ticks) -> bool {
        let mut open = self.open.borrow_mut();
        let fiber = system::fiber();
        let latest = open
            .iter_mut()
            .filter(|proposal| *proposal.identifier == *identifier)
            .max_by_key(|proposal| (proposal.fiber == fiber, proposal.number));
        let Some(proposal) = latest else {
            return false;
        };
        proposal.first = Some(first);
        true
    }
}
