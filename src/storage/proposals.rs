//! First states: the states in which buckets without a record start, instead of full. A bootstrap
//! closure proposes a first state while a storage's `consume()` runs the closure.
//!
//! If a closure calls `bootstrap()` on the storage, the state is only proposed and not written.
//! After the closure has returned true, one step makes the record and takes the tokens. If another
//! call has made a record meanwhile, that record stays. So a slow closure can never refill a
//! drained bucket.

use gcra::Timestamp;
use std::cell::{Cell, RefCell};
use zend::system;

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
    /// Registers a closure that is about to run for this bucket, until the result is dropped. A
    /// fatal error in the closure drops it, too.
    pub fn open(&self, identifier: &[u8]) -> Opened<'_> {
        let number = self.next.get();
        self.next.set(number.wrapping_add(1));
        self.open.borrow_mut().push(Proposal {
            number,
            fiber: system::fiber(),
            identifier: identifier.into(),
            first: None,
        });
        Opened {
            proposals: self,
            number,
        }
    }

    /// Records a first state as the proposal of the latest closure that runs for this bucket in the
    /// current fiber. Returns false if no such closure runs.
    pub fn propose(&self, identifier: &[u8], first: Timestamp) -> bool {
        let mut open = self.open.borrow_mut();
        let fiber = system::fiber();
        let mut latest_first = open.iter_mut().rev();
        let latest = latest_first
            .find(|proposal| proposal.fiber == fiber && *proposal.identifier == *identifier);
        let Some(proposal) = latest else {
            return false;
        };
        proposal.first = Some(first);
        true
    }
}

/// The proposal of a closure that is running.
#[derive(Debug)]
pub struct Opened<'p> {
    proposals: &'p Proposals,
    number: u64,
}

impl Opened<'_> {
    /// Returns the state that the closure has proposed, if any.
    pub fn first(&self) -> Option<Timestamp> {
        let open = self.proposals.open.borrow();
        let mut mine = open.iter().filter(|it| it.number == self.number);
        mine.next()?.first
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let mut open = self.proposals.open.borrow_mut();
        open.retain(|proposal| proposal.number != self.number);
    }
}
