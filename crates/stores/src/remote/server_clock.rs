//! The clocks of servers that differ from this host's clock by more than the windows of a quota.
//!
//! A server's clock chooses the window of a call from the windows that the host sends. If it is in
//! none of them, the server changes nothing and replies its clock. The call is then repeated with
//! the windows of that clock, and later calls begin with them.
//!
//! Each thread knows the clocks of its servers, as it has its own connections.

use super::{Cause, Server};
use gcra::{Outcome, Refill, Step, TICKS_PER_SECOND, Timestamp, Windows, unix_time};
use std::cell::RefCell;
use std::collections::HashMap;

/// The most servers whose clocks are known. At the limit, all are forgotten.
const MOST: usize = 64;

thread_local! {
    /// The ticks by which the clock of a server is ahead of this host's, by [`Server::id`].
    static LEADS: RefCell<HashMap<u64, i64>> = RefCell::default();
}

/// Reports whether the clock of any server is known to differ from this host's.
pub fn differs() -> bool {
    LEADS.with_borrow(|leads| !leads.is_empty())
}

/// Returns the current Unix time on the clock of a server, as far as it is known.
pub fn now(server: &Server) -> Timestamp {
    let lead = LEADS.with_borrow(|leads| leads.get(&server.id).copied());
    unix_time().saturating_add_signed(lead.unwrap_or_default())
}

/// Notes the clock of a server that has replied `now`.
fn note(server: &Server, now: Timestamp) {
    let lead = now.signed_since(unix_time());
    LEADS.with_borrow_mut(|leads| {
        if leads.len() >= MOST {
            leads.clear();
        }
        if lead.unsigned_abs() < TICKS_PER_SECOND {
            leads.remove(&server.id);
        } else {
            leads.insert(server.id, lead);
        }
    });
}

/// Notes the clock of a server if the outcome shows that it is outside of the windows of the step.
/// Returns true if the call must be repeated. Fails with [`Cause::Clock`] if the call was already
/// repeated.
pub fn is_outside(server: &Server, step: &Step, outcome: &Outcome) -> Result<bool, Cause> {
    match step.refill {
        Refill::Windows(windows) if step.is_outside(outcome) => {
            must_repeat(server, windows, outcome.now)
        }
        _ => Ok(false),
    }
}

/// Notes the clock of a server, which is outside of these windows. Returns true, because the call
/// must be repeated. Fails with [`Cause::Clock`] if the call was already repeated.
pub fn must_repeat(server: &Server, windows: Windows, now: Timestamp) -> Result<bool, Cause> {
    note(server, now);
    if windows.is_repeat {
        return Err(Cause::Clock(now));
    }
    Ok(true)
}
