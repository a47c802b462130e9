//! The addresses of names, remembered: a look-up may take seconds and knows no deadline.

use crate::clock::{TICKS_PER_SECOND, Ticks, boot_clock};
use parking_lot::Mutex;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// How long addresses are believed.
const BELIEVED: Ticks = 60 * TICKS_PER_SECOND;
/// A process knows a handful of servers.
const MOST: usize = 64;

struct Known {
    host: String,
    port: u16,
    addresses: Vec<SocketAddr>,
    since: Ticks,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The addresses of a host.
///
/// # Errors
/// When there are none.
pub fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let now = boot_clock();
    let is_current =
        |known: &&Known| known.host == host && known.port == port && now - known.since < BELIEVED;
    if let Some(known) = KNOWN.lock().iter().find(is_current) {
        return Ok(known.addresses.clone());
    }
    // Without the lock, for this may take long.
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    if addresses.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    forget(host, port);
    let mut known = KNOWN.lock();
    if known.len() == MOST {
        known.remove(0);
    }
    known.push(Known {
        host: host.to_owned(),
        port,
        addresses: addresses.clone(),
        since: now,
    });
    Ok(addresses)
}

/// Looks the host up again next time.
pub fn forget(host: &str, port: u16) {
    KNOWN
        .lock()
        .retain(|known| known.host != host || known.port != port);
}
