//! First states, proposed while a storage's `consume()` runs its bootstrap closure.
//!
//! A closure that calls `bootstrap()` on the storage does not write: it proposes. Only when it has
//! returned true is the record made, with the tokens taken, and a record that somebody else made
//! meanwhile wins. So a closure that stalls can never refill a drained bucket.

use std::cell::RefCell;
use tokenbucket_core::Ticks;

/// The closures that run now, the innermost last.
#[derive(Debug, Default)]
pub struct Proposals(RefCell<Vec<Proposal>>);

#[derive(Debug)]
struct Proposal {
    identifier: Box<[u8]>,
    first: Option<Ticks>,
}

impl Proposals {
    /// A closure is about to run for this bucket.
    pub fn open(&self, identifier: &[u8]) {
        self.0.borrow_mut().push(Proposal {
            identifier: identifier.into(),
            first: None,
        });
    }

    /// The closure has returned; what it proposed.
    pub fn close(&self) -> Option<Ticks> {
        self.0
            .borrow_mut()
            .pop()
            .and_then(|proposal| proposal.first)
    }

    /// Proposes, if a closure runs for this bucket.
    pub fn propose(&self, identifier: &[u8], first: Ticks) -> bool {
        let mut open = self.0.borrow_mut();
        let mine = |proposal: &&mut Proposal| *proposal.identifier == *identifier;
        let Some(proposal) = open.iter_mut().rev().find(mine) else {
            return false;
        };
        proposal.first = Some(first);
        true
    }
}
