//! The permits that the current request holds.

use super::rules;
use gcra::Key;
use gcra::batch::Few;
use gcra::key::Row;
use segment::host::Host;
use segment::permits::{Acquired, Permit};
use segment::slots::counters::By;
use std::cell::RefCell;

thread_local! {
    /// The permits of the current request, with the rows that count them.
    static HELD: RefCell<Few<(Permit, Row)>> = RefCell::default();
}

/// Acquires a permit of `key` until the request ends. Counts the denial and returns `false` if no
/// permit can be taken. If this process cannot hold permits, logs that and returns `true`.
pub fn acquire(host: &Host, key: Key<'_>, limit: u16) -> bool {
    match host.permits().acquire(key, limit) {
        Ok(Acquired::Granted { permit, .. }) => {
            HELD.with_borrow_mut(|held| held.push((permit, key.row)));
            true
        }
        Ok(Acquired::Denied | Acquired::Contended | Acquired::TableFull) => {
            host.slots().count_for(key, By::SharedMemory, false);
            false
        }
        Err(reason) => {
            let message = format!("guard: no concurrent limit is in force, because {reason}");
            rules::log(host.slots(), "permits", &message);
            true
        }
    }
}

/// Counts the permits of the current request as granted.
pub fn count_granted(host: &Host) {
    HELD.with_borrow(|held| {
        for &(_, row) in held {
            host.slots().count_in(row, By::SharedMemory, true);
        }
    });
}

/// Gives back all permits of the current request.
pub fn release_all(host: &Host) {
    for (permit, _) in HELD.take() {
        host.permits().release(permit);
    }
}
