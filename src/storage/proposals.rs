//! First states, proposed while a storage's `consume()` runs its bootstrap closure.
//!
//! A closure that calls `bootstrap()` on the storage does not write: it proposes. Only when it has
//! returned true is the record made, with the tokens taken, and a record that somebody else made
//! meanwhile wins. So a closure that stalls can never refill a drained bucket.

use crate::zend::system;
use std::cell::{Cell, RefCell};
use tokenbucket_core::Ticks;

/// The closures that run now. Fibers may interleave them, so they need not end in order.
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
    /// A closure is about to run for this bucket; the number to close it with.
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

    /// The closure has returned; what it proposed.
    pub fn close(&self, number: u64) -> Option<Ticks> {
        let mut open = self.open.borrow_mut();
        let place = open
            .iter()
            .rposition(|proposal| proposal.number == number)?;
        open.remove(place).first
    }

    /// Proposes to the latest closure that runs for this bucket, rather one of this fiber, if there is one.
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
