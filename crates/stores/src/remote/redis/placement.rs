//! Finds proxies that place a script by its first key.
//!
//! Such a proxy (twemproxy, Codis, predixy) runs a script on the server of its first key, where the
//! script misses the records of its other keys. So after a grant of several buckets, another one is
//! read alone in the same round trip. If it has no record, the proxy is scattered: buckets are then
//! taken one by one, as in a cluster. Once enough buckets have been found, no more are read.
//!
//! Invariant: a server that is no proxy is never found to be one, unless a record was lost between
//! two commands of one pipeline. Then calls on several buckets only become slower.

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

/// Returns true if the server is a proxy that places a script by its first key.
pub fn is_scattered(server: u64) -> bool {
    found(server) & SCATTERED != 0
}

/// Returns true if no more buckets need to be read.
pub fn is_known(server: u64) -> bool {
    let found = found(server);
    found & SCATTERED != 0 || found.count_ones() >= ENOUGH
}

/// Notes whether a bucket with this hash was found after its grant.
pub fn note(server: u64, hash: u128, was_found: bool) {
    add(
        server,
        if was_found {
            1 << (hash % 63)
        } else {
            SCATTERED
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_after_enough_different_buckets() {
        for hash in 0..ENOUGH.into() {
            assert!(!is_known(7) && !is_scattered(7));
            note(7, hash, true);
            note(7, hash, true);
        }
        assert!(is_known(7) && !is_scattered(7));
        note(8, 1, false);
        assert!(is_known(8) && is_scattered(8) && !is_known(9));
        for server in 100..100 + MOST as u64 {
            note(server, 1, true);
        }
        assert!(!is_scattered(8), "checked again");
    }
}
