//! The permits that may be in a set on a server although nobody uses them.
//!
//! A request whose result is unknown may have taken its permit, and a release may have failed. Such
//! a permit is removed with a later call. If the removal is executed before a request that was
//! delayed on its way, the permit stays until its lease ends.

use gcra::{Ticks, Timestamp, boot_clock};
use std::cell::RefCell;

/// The most permits that a thread remembers. The ends of their leases remove the others.
const MOST: usize = 64;

thread_local! {
    /// Each thread has its own list, because a lock that another thread holds during a fork would
    /// stay locked in the child.
    static ABANDONED: RefCell<Vec<Abandoned>> = const { RefCell::new(Vec::new()) };
}

/// A permit that must be removed.
#[derive(Clone, Debug)]
pub struct Abandoned {
    /// The [`super::Server::login`] of the server or the fleet.
    pub login: u64,
    /// The key of the set.
    pub name: Vec<u8>,
    pub member: Vec<u8>,
    /// Unless the request was delayed, the lease has ended at this instant, so that no removal is
    /// necessary afterwards.
    until: Timestamp,
}

impl Abandoned {
    /// Describes a permit whose lease of `lease` ticks has begun, unless the request was delayed.
    pub fn new(login: u64, name: &[u8], member: &[u8], lease: Ticks) -> Self {
        Self {
            login,
            name: name.to_vec(),
            member: member.to_vec(),
            until: boot_clock() + lease,
        }
    }
}

/// Remembers permits that must be removed. Forgets the oldest ones if there are too many.
pub fn add(permits: impl IntoIterator<Item = Abandoned>) {
    ABANDONED.with_borrow_mut(|all| {
        all.extend(permits);
        all.drain(..all.len().saturating_sub(MOST));
    });
}

/// Returns and forgets the permits that `is_wanted` selects.
pub fn take(mut is_wanted: impl FnMut(&Abandoned) -> bool) -> Vec<Abandoned> {
    ABANDONED.with_borrow_mut(|all| {
        if all.is_empty() {
            return Vec::new();
        }
        let now = boot_clock();
        all.retain(|permit| now < permit.until);
        all.extract_if(.., |permit| is_wanted(permit)).collect()
    })
}
