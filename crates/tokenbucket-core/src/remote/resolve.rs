//! A cache of DNS lookups. A lookup may take seconds, and the timeout does not cover it.

use crate::clock::{TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// The age at which cached addresses expire, in ticks.
const BELIEVED: Ticks = 60 * TICKS_PER_SECOND;
/// The most names in the cache. A process usually uses only a few servers.
const MOST: usize = 64;

/// A host and a port.
type Name = (String, u16);

/// The addresses of each name, and the instant at which they were looked up.
static KNOWN: Mutex<BTreeMap<Name, (Vec<SocketAddr>, Timestamp)>> = Mutex::new(BTreeMap::new());

/// Returns the addresses of a host, from the cache or by a lookup.
///
/// # Errors
/// Fails if the lookup fails or returns no address.
pub fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let now = boot_clock();
    let name = (host.to_owned(), port);
    if let Some((addresses, since)) = KNOWN.lock().get(&name)
        // Another thread may have looked the name up after `now`.
        && now.saturating_since(*since) < BELIEVED
    {
        return Ok(addresses.clone());
    }
    // The lock is not held during the lookup, which may take long.
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    if addresses.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut known = KNOWN.lock();
    if known.len() >= MOST {
        known.pop_first();
    }
    known.insert(name, (addresses.clone(), now));
    Ok(addresses)
}

/// Stores addresses of a name in the cache, as a lookup does.
#[cfg(test)]
pub fn learn(host: &str, port: u16, addresses: Vec<SocketAddr>) {
    let name = (host.to_owned(), port);
    KNOWN.lock().insert(name, (addresses, boot_clock()));
}

/// Removes the host from the cache, so that the next call looks it up again.
pub fn forget(host: &str, port: u16) {
    KNOWN.lock().remove(&(host.to_owned(), port));
}
