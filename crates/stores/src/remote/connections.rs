//! The idle connections of this thread, kept between calls and between PHP requests. PHP has one
//! thread, except in a thread-safe build.
//!
//! A call takes a connection out, and puts the connection back only after all replies have been
//! read. So a connection that broke, timed out or stopped in the middle of a reply is never reused.
//!
//! Each thread has its own connections, so that they need no lock. A lock that another thread holds
//! during a fork would stay locked in the child. A thread that ends closes its connections.
//!
//! A connection belongs to the process that opened it. A forked child drops the connections of its
//! parent. Dropping closes the child's descriptors and sends nothing to the server.
//!
//! A process is identified by its fork generation instead of its process id, because reading the
//! generation needs no system call.

use gcra::{TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use segment::memory::fork::generation;
use std::cell::RefCell;

/// The most idle connections to keep. A thread usually has a few servers, and makes one call at a
/// time.
const MOST: usize = 64;

/// The longest time for which a connection is kept. Firewalls, NATs and load balancers drop idle
/// connections silently, after a minute or more. The next call on such a connection would get no
/// reply until its timeout.
pub(super) const LONGEST_IDLE: Ticks = 30 * TICKS_PER_SECOND;

/// Idle connections `C` to servers that are identified by `K`.
#[derive(Debug)]
pub struct Connections<K, C>(RefCell<Vec<Idle<K, C>>>);

#[derive(Debug)]
struct Idle<K, C> {
    /// The fork generation of the process that opened the connection.
    generation: u32,
    since: Timestamp,
    server: K,
    connection: C,
}

impl<K, C> Idle<K, C> {
    fn is_usable(&self, now: Timestamp) -> bool {
        self.generation == generation() && now.saturating_since(self.since) < LONGEST_IDLE
    }
}

impl<K: PartialEq + Clone, C> Connections<K, C> {
    /// Creates an empty pool.
    pub const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// Reports whether [`Connections::take`] would return a connection to `server`.
    pub fn has(&self, server: &K) -> bool {
        let now = boot_clock();
        let all = self.0.borrow();
        all.iter()
            .any(|idle| idle.server == *server && idle.is_usable(now))
    }

    /// Removes and returns the connection to `server` that was used last. Drops connections that
    /// another process opened or that were idle for too long.
    pub fn take(&self, server: &K) -> Option<C> {
        self.take_at(server, boot_clock())
    }

    fn take_at(&self, server: &K, now: Timestamp) -> Option<C> {
        let mut all = self.0.borrow_mut();
        all.retain(|idle| idle.is_usable(now));
        let place = all.iter().rposition(|idle| idle.server == *server)?;
        Some(all.remove(place).connection)
    }

    /// Keeps a connection for the next call. Every reply on it must have been read.
    pub fn keep(&self, server: &K, connection: C) {
        let mut all = self.0.borrow_mut();
        if all.len() == MOST {
            all.remove(0);
        }
        all.push(Idle {
            generation: generation(),
            since: boot_clock(),
            server: server.clone(),
            connection,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_used_by_one_call_at_a_time() {
        let connections = Connections::new();
        assert_eq!(connections.take(&"a"), None);
        connections.keep(&"a", 1);
        connections.keep(&"b", 2);
        assert_eq!(connections.take(&"a"), Some(1));
        assert_eq!(connections.take(&"a"), None);
        assert_eq!(connections.take(&"b"), Some(2));
    }

    #[test]
    fn a_connection_that_was_idle_for_long_is_dropped() {
        let connections = Connections::new();
        for (idle, kept) in [
            (LONGEST_IDLE - TICKS_PER_SECOND, true),
            (LONGEST_IDLE, false),
        ] {
            connections.keep(&"a", 1);
            let taken = connections.take_at(&"a", boot_clock() + idle);
            assert_eq!(taken.is_some(), kept, "{idle}");
        }
        assert_eq!(connections.take(&"a"), None);
    }

    #[test]
    fn not_more_are_kept_than_make_sense() {
        let connections = Connections::new();
        for server in 0..100 {
            connections.keep(&server, server);
        }
        let kept = (0..100).filter(|server| connections.take(server).is_some());
        assert_eq!(kept.count(), MOST);
    }
}
