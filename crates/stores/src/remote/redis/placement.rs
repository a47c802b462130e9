//! Finds proxies that place a script by its first key.
//!
//! Such a proxy (twemproxy, Codis, predixy) runs a script on the server of its first key, where the
//! script misses the records of its other keys. So after a grant of several buckets, another one is
//! read alone in the same round trip. If it has no record, the proxy is scattered: buckets are then
//! taken one by one, as in a cluster. Once enough buckets have been found, no more are read. Minute
//! counters are read alone in the same way.
//!
//! Invariant: a server that is no proxy is never found to be one, unless a record was lost between
//! two commands of one pipeline. Then calls on several buckets only become slower.

use super::Redis;
use gcra::KeyHasher;
use std::cell::RefCell;

/// The bit of a server that is a proxy.
const SCATTERED: u64 = 1 << 63;
/// The number of different buckets that must be found. A proxy of two servers would place all of
/// them like the first keys of their calls only once in 65,536 times.
const ENOUGH: u32 = 16;
/// The most servers of a thread. The first one is forgotten, and then checked again.
const MOST: usize = 32;

thread_local! {
    /// For each server, a bit of each bucket that was found, by its hash.
    static FOUND: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

fn found(server: u64) -> u64 {
    FOUND.with_borrow(|all| all.iter().find(|it| it.0 == server).map_or(0, |it| it.1))
}

fn add(server: u64, bit: u64) {
    FOUND.with_borrow_mut(|all| {
        if let Some((_, bits)) = all.iter_mut().find(|it| it.0 == server) {
            *bits |= bit;
            return;
        }
        if all.len() == MOST {
            all.remove(0);
        }
        all.push((server, bit));
    });
}

/// The way in which the server of a storage places scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Not enough records have been found yet.
    Unknown,
    /// A script finds the records of all its keys.
    Together,
    /// The server is a proxy that places a script by its first key.
    Scattered,
}

fn placement(server: u64) -> Placement {
    match found(server) {
        found if found & SCATTERED != 0 => Placement::Scattered,
        found if found.count_ones() >= ENOUGH => Placement::Together,
        _ => Placement::Unknown,
    }
}

impl Redis {
    /// Returns the way in which the server places scripts. Meaningless for a cluster.
    #[must_use]
    pub fn placement(&self) -> Placement {
        placement(self.topology.whole.id)
    }

    /// Notes whether a script that did not begin with `key` has found the record of this key.
    pub fn note_placement(&self, key: &[u8], was_found: bool) {
        let place = KeyHasher::new([0; 2]).key(key).hash % 63;
        let bit = if was_found { 1 << place } else { SCATTERED };
        add(self.topology.whole.id, bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_after_enough_different_buckets() {
        for place in 0..ENOUGH {
            assert_eq!(placement(7), Placement::Unknown);
            add(7, 1 << place);
            add(7, 1 << place);
        }
        assert_eq!(placement(7), Placement::Together);
        add(8, SCATTERED);
        assert_eq!(placement(8), Placement::Scattered);
        assert_eq!(placement(9), Placement::Unknown);
        for server in 100..100 + MOST as u64 {
            add(server, 1);
        }
        assert_eq!(placement(8), Placement::Unknown, "checked again");
    }
}
