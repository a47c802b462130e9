//! The addresses of names, remembered: a look-up may take seconds and knows no deadline.

use crate::clock::{TICKS_PER_SECOND, Ticks, boot_clock};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// How long addresses are believed.
const BELIEVED: Ticks = 60 * TICKS_PER_SECOND;
/// A process knows a handful of servers.
const MOST: usize = 64;

/// A host and a port.
type Name = (String, u16);

/// The addresses of a name, and when they were looked up.
static KNOWN: Mutex<BTreeMap<Name, (Vec<SocketAddr>, Ticks)>> = Mutex::new(BTreeMap::new());

/// The addresses of a host.
///
/// # Errors
/// When there are none.
pub fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let now = boot_clock();
    let name = (host.to_owned(), port);
    if let Some((addresses, since)) = KNOWN.lock().get(&name)
        && now - since < BELIEVED
    {
        return Ok(addresses.clone());
    }
    // Without the lock, for this may take long.
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

/// Looks the host up again next time.
pub fn forget(host: &str, port: u16) {
    KNOWN.lock().remove(&(host.to_owned(), port));
}
