//! The idle connections of this process, kept between calls and between PHP requests.
//!
//! A call takes a connection out, and puts the connection back only after all replies have been
//! read. So a connection that broke, timed out or stopped in the middle of a reply is never reused.
//! No lock is held while a call waits.
//!
//! A connection belongs to the process that opened it. A forked child drops the connections of its
//! parent. Dropping closes the child's descriptors and sends nothing to the server.
//!
//! A process is identified by its fork generation instead of its process id, because reading the
//! generation needs no system call.

use crate::memory::fork::generation;
use parking_lot::Mutex;

/// The most idle connections to keep. A process usually has a few servers, and makes one call at a
/// time.
const MOST: usize = 64;

/// Idle connections `C` to servers that are identified by `K`.
#[derive(Debug)]
pub struct Connections<K, C>(Mutex<Vec<Idle<K, C>>>);

#[derive(Debug)]
struct Idle<K, C> {
    /// The fork generation of the process that opened the connection.
    generation: u32,
    server: K,
    connection: C,
}

impl<K: PartialEq + Clone, C> Connections<K, C> {
    /// Creates an empty pool.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Removes and returns an idle connection to `server` that this process opened.
    pub fn take(&self, server: &K) -> Option<C> {
        let generation = generation();
        let mut all = self.0.lock();
        all.retain(|idle| idle.generation == generation);
        let place = all.iter().position(|idle| idle.server == *server)?;
        Some(all.swap_remove(place).connection)
    }

    /// Keeps a connection for the next call. Every reply on it must have been read.
    pub fn keep(&self, server: &K, connection: C) {
        let mut all = self.0.lock();
        if all.len() == MOST {
            all.remove(0);
        }
        all.push(Idle {
            generation: generation(),
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
    fn not_more_are_kept_than_make_sense() {
        let connections = Connections::new();
        for server in 0..100 {
            connections.keep(&server, server);
        }
        let kept = (0..100).filter(|server| connections.take(server).is_some());
        assert_eq!(kept.count(), MOST);
    }
}
