//! First states: the states in which buckets without a record start, instead of full. A bootstrap
//! closure proposes a first state while a storage's `consume()` runs the closure.
//!
//! If a closure calls `bootstrap()` on the storage, the state is only proposed and not written.
//! After the closure has returned true, one step makes the record and takes the tokens. If another
//! call has made a record meanwhile, that record stays. So a slow closure can never refill a
//! drained bucket.

use crate::zend::system;
use std::cell::{Cell, RefCell};
use tokenbucket_core::Timestamp;

/// The proposals of the closures that are running. Fibers may interleave closures, so closures may
/// end in any order.
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
    first: Option<Timestamp>,
}

impl Proposals {
    /// Registers a closure that is about to run for this bucket. Returns the number to pass to
    /// `close`.
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
    pub fn close(&self, number: u64) -> Option<Timestamp> {
        let mut open = self.open.borrow_mut();
        let place = open
            .iter()
            .rposition(|proposal| proposal.number == number)?;
        open.remove(place).first
    }

    /// Records a first state as the proposal of the latest closure that runs for this bucket.
    /// Prefers closures in the current fiber. Returns false if no closure runs for this bucket.
    pub fn propose(&self, identifier: &[u8], first: Timestamp) -> bool {
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
