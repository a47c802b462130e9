//! A cache of DNS lookups, shared by all workers of a master. A lookup may take many seconds, and
//! the timeout of a call does not cover it.
//!
//! ```text
//! fresh      the addresses are used
//! due        one worker looks the name up; the others use the addresses that were found before
//! unknown    one worker looks the name up; the others wait for it until their deadline
//! failed     no worker looks the name up for as long as the failed lookup took
//! ```
//!
//! The pause after a failed lookup is at least a second and at most a minute.
//!
//! Invariant: at most one worker at a time looks up a name. The worker has a lease until its lookup
//! ends or the worker is killed.
//!
//! The cells are in memory of their own instead of the segment. Other users may write to a named
//! segment. There they could redirect a login, with its password, to another server.

use crate::memory::Region;
use crate::worker;
use gcra::{KeyHasher, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use rustix::thread::gettid;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, RwLock};
use std::thread::sleep;
use std::time::Duration;

/// The age at which cached addresses are due for another lookup, in ticks.
const BELIEVED: Ticks = 60 * TICKS_PER_SECOND;
/// The least time between two lookups of a name.
const LEAST_PAUSE: Ticks = TICKS_PER_SECOND;
/// The number of names in the cache. Further names are looked up for each connection.
pub(crate) const CELLS: usize = 64;
/// The most addresses of a name that are kept.
const MOST: usize = 8;
/// The bit of an address's last word that marks an IPv4 address.
const V4: u64 = 1 << 63;

/// The addresses of one name. All accesses are `SeqCst`, because they are rare.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct LookupCell {
    /// A hash of the host and the port; 0 while the cell is free.
    name: AtomicU64,
    /// The instant of the last successful lookup; 0 if the name must be looked up.
    found_at: AtomicU64,
    /// The instant before which no worker looks the name up.
    paused_until: AtomicU64,
    /// Odd while the addresses are being written. It changes with each write.
    version: AtomicU64,
    /// The id of the thread that looks the name up; 0 while no thread does.
    asker: AtomicU32,
    /// The index of the address to connect to first. Not 0 if earlier addresses did not accept
    /// connections.
    first: AtomicU32,
    addresses: [[AtomicU64; 3]; MOST],
}

/// The cells that all workers of a master inherit.
static SHARED: RwLock<Option<Arc<Region<LookupCell>>>> = RwLock::new(None);
/// The cells of a process for which [`SHARED`] is empty.
static OWN: [LookupCell; CELLS] = [const { LookupCell::new() }; CELLS];

/// Uses `cells` from now on, or the cells of this process if `cells` is `None`. Processes that are
/// forked later share `cells`.
pub(crate) fn share(cells: Option<Region<LookupCell>>) {
    // Does not wait: if another thread was reading when this process was forked, the lock is never
    // released in this process.
    if let Ok(mut shared) = SHARED.try_write() {
        *shared = cells.map(Arc::new);
    }
}

/// A cell, with the memory that it is part of.
struct FoundCell {
    cells: Option<Arc<Region<LookupCell>>>,
    index: usize,
}

impl Deref for FoundCell {
    type Target = LookupCell;

    fn deref(&self) -> &LookupCell {
        &self.cells.as_deref().map_or(&OWN[..], |cells| cells)[self.index]
    }
}

/// Returns the addresses of a host, from the cache or by a lookup. Waits for another worker's
/// lookup until `deadline`. Its own lookup may take longer. Fails if no address is known, and the
/// lookup failed recently or takes too long.
pub fn addresses(host: &str, port: u16, deadline: Timestamp) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let Some(cell) = LookupCell::of(host, port) else {
        return look_up(host, port);
    };
    loop {
        // Checks before reading. While a name is not due, no worker writes its addresses. So if
        // none is read then, the lookup has failed.
        let is_due = cell.is_due(boot_clock());
        let known = cell.read();
        if is_due {
            if cell.lease() {
                return cell.look_up(host, port, known);
            }
        } else if known.is_empty() {
            return Err(io::Error::other("it failed a moment ago"));
        }
        if !known.is_empty() {
            return Ok(known);
        }
        if boot_clock() >= deadline {
            return Err(io::Error::other("another worker still waits for it"));
        }
        sleep(Duration::from_millis(1));
    }
}

/// Makes the next call look the host up again, because its address may have changed. Other calls
/// use the old addresses until that lookup ends. Does nothing if the addresses were found less than
/// a second ago.
pub fn forget(host: &str, port: u16) {
    if host.parse::<IpAddr>().is_err()
        && let Some(cell) = LookupCell::of(host, port)
    {
        let found_at = Timestamp(cell.found_at.load(SeqCst));
        if boot_clock().saturating_since(found_at) >= LEAST_PAUSE {
            cell.found_at.store(0, SeqCst);
        }
    }
}

/// Records that `address` of the host accepts connections and that those before it do not.
pub fn prefer(host: &str, port: u16, address: SocketAddr) {
    if host.parse::<IpAddr>().is_err()
        && let Some(cell) = LookupCell::of(host, port)
        && let Some(place) = cell.read().iter().position(|&it| it == address)
        && let Ok(place) = u32::try_from(place)
    {
        cell.first.fetch_add(place, SeqCst);
    }
}

/// Stores addresses of a name in the cache, as a lookup two seconds ago would. Only for tests.
#[doc(hidden)]
pub fn learn(host: &str, port: u16, addresses: &[SocketAddr]) {
    if let Some(cell) = LookupCell::of(host, port) {
        cell.write(addresses, boot_clock() - 2 * LEAST_PAUSE);
    }
}

/// Reports whether the next call looks the name up, or may wait for another worker's lookup.
pub fn is_due(host: &str, port: u16) -> bool {
    let is_name = host.parse::<IpAddr>().is_err();
    is_name && LookupCell::of(host, port).is_none_or(|cell| cell.is_due(boot_clock()))
}

fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.take(MOST).collect();
    if addresses.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(addresses)
}

impl LookupCell {
    const fn new() -> Self {
        Self {
            name: AtomicU64::new(0),
            found_at: AtomicU64::new(0),
            paused_until: AtomicU64::new(0),
            version: AtomicU64::new(0),
            asker: AtomicU32::new(0),
            first: AtomicU32::new(0),
            addresses: [const { [const { AtomicU64::new(0) }; 3] }; MOST],
        }
    }

    /// Returns the cell of a name, or `None` if all cells belong to other names.
    // Any half of a good hash is a good hash.
    #[allow(clippy::cast_possible_truncation)]
    fn of(host: &str, port: u16) -> Option<FoundCell> {
        let name = format!("{host}:{port}");
        let name = (KeyHasher::new([0; 2]).key(name.as_bytes()).hash as u64).max(1);
        let cells = SHARED.try_read().ok().and_then(|shared| shared.clone());
        let all = cells.as_deref().map_or(&OWN[..], |cells| cells);
        let index = all.iter().position(|cell| {
            let owner = cell.name.compare_exchange(0, name, SeqCst, SeqCst);
            owner.is_ok() || owner == Err(name)
        })?;
        Some(FoundCell { cells, index })
    }

    fn is_due(&self, now: Timestamp) -> bool {
        let [found_at, paused_until] =
            [&self.found_at, &self.paused_until].map(|it| it.load(SeqCst));
        now.0 >= paused_until && now.saturating_since(Timestamp(found_at)) >= BELIEVED
    }

    /// Makes this thread the only one that looks the name up. Returns false if another living
    /// thread of any process does so.
    fn lease(&self) -> bool {
        worker::claim(&self.asker, gettid(), SeqCst)
    }

    /// Looks the name up. If that fails, returns the addresses that are known.
    fn look_up(
        &self,
        host: &str,
        port: u16,
        known: Vec<SocketAddr>,
    ) -> io::Result<Vec<SocketAddr>> {
        let start = boot_clock();
        let found = look_up(host, port);
        let now = boot_clock();
        let addresses = match found {
            Ok(addresses) => {
                self.write(&addresses, now);
                Ok(self.read())
            }
            Err(error) => {
                let pause = (now - start).clamp(LEAST_PAUSE, BELIEVED);
                self.paused_until.store((now + pause).0, SeqCst);
                if known.is_empty() {
                    Err(error)
                } else {
                    Ok(known)
                }
            }
        };
        self.asker.store(0, SeqCst);
        addresses
    }

    /// Replaces the addresses. Only the process with the lease may call this. If it is killed
    /// meanwhile, the version stays odd until the next lookup.
    fn write(&self, addresses: &[SocketAddr], found_at: Timestamp) {
        // If [`prefer`] has moved an address to the front, that address stays there.
        let preferred = self
            .read()
            .first()
            .copied()
            .filter(|_| self.first.load(SeqCst) != 0);
        let version = self.version.load(SeqCst) | 1;
        self.version.store(version, SeqCst);
        for (index, words) in self.addresses.iter().enumerate() {
            let packed = addresses
                .get(index)
                .map_or([0; 3], |&address| pack(address));
            words
                .iter()
                .zip(packed)
                .for_each(|(word, value)| word.store(value, SeqCst));
        }
        let first = addresses.iter().position(|&it| Some(it) == preferred);
        let first = first.and_then(|first| u32::try_from(first).ok());
        self.first.store(first.unwrap_or(0), SeqCst);
        self.version.store(version.wrapping_add(1), SeqCst);
        self.found_at.store(found_at.0, SeqCst);
    }

    /// Returns the addresses, the one to connect to first at the front. Returns none if none is
    /// known, or if another process is writing them.
    fn read(&self) -> Vec<SocketAddr> {
        let version = self.version.load(SeqCst);
        let words = self
            .addresses
            .each_ref()
            .map(|words| words.each_ref().map(|it| it.load(SeqCst)));
        if version % 2 == 1 || self.version.load(SeqCst) != version {
            return Vec::new();
        }
        let mut addresses: Vec<_> = words.into_iter().filter_map(unpack).collect();
        let first = self.first.load(SeqCst) as usize;
        let length = addresses.len().max(1);
        addresses.rotate_left(first % length);
        addresses
    }
}

/// Packs an address into its 128 bits, then the port, the scope and the family.
// The casts take one half each.
#[allow(clippy::cast_possible_truncation)]
fn pack(address: SocketAddr) -> [u64; 3] {
    let (ip, rest) = match address {
        SocketAddr::V4(v4) => (v4.ip().to_ipv6_mapped(), V4),
        SocketAddr::V6(v6) => (*v6.ip(), u64::from(v6.scope_id()) << 16),
    };
    [
        (ip.to_bits() >> 64) as u64,
        ip.to_bits() as u64,
        rest | u64::from(address.port()),
    ]
}

/// Unpacks an address. Returns `None` if the port is 0, because the words are then unused.
// The casts take the bits that `pack` wrote.
#[allow(clippy::cast_possible_truncation)]
fn unpack([high, low, rest]: [u64; 3]) -> Option<SocketAddr> {
    let ip = Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
    let port = rest as u16;
    let address = match ip.to_ipv4_mapped().filter(|_| rest & V4 != 0) {
        Some(v4) => (v4, port).into(),
        None => SocketAddrV6::new(ip, port, 0, (rest >> 16) as u32).into(),
    };
    (port != 0).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    /// Returns a name that is invalid, so that its lookup fails without a DNS server.
    fn invalid(name: &str) -> String {
        format!("{name}..invalid")
    }

    fn soon() -> Timestamp {
        boot_clock() + TICKS_PER_SECOND / 20
    }

    #[test]
    fn addresses_are_kept_in_order() {
        let all: Vec<SocketAddr> = ["127.0.0.1:1", "[fe80::1%7]:65535", "[::ffff:1.2.3.4]:5"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        learn("kept", 1, &all);
        assert_eq!(addresses("kept", 1, soon()).unwrap(), all);
        prefer("kept", 1, all[1]);
        let turned = vec![all[1], all[2], all[0]];
        assert_eq!(addresses("kept", 1, soon()).unwrap(), turned);
        // The next lookup returns the addresses in another order.
        learn("kept", 1, &turned);
        assert_eq!(addresses("kept", 1, soon()).unwrap(), turned);
        learn("kept", 1, &all[..1]);
        assert_eq!(addresses("kept", 1, soon()).unwrap(), all[..1]);
    }

    #[test]
    fn addresses_stay_known_if_a_lookup_fails() {
        let (host, address) = (invalid("stale"), "127.0.0.1:1".parse().unwrap());
        learn(&host, 1, &[address]);
        assert!(!is_due(&host, 1));
        forget(&host, 1);
        assert!(is_due(&host, 1));
        let start = boot_clock();
        assert_eq!(addresses(&host, 1, soon()).unwrap(), [address]);
        let cell = LookupCell::of(&host, 1).unwrap();
        let soon_after = start + (LEAST_PAUSE - 1);
        assert!(!cell.is_due(soon_after), "the failure is cached");
        cell.write(&[address], boot_clock() + BELIEVED);
        forget(&host, 1);
        assert!(!is_due(&host, 1), "it was looked up less than a second ago");
    }

    #[test]
    fn a_failure_is_cached() {
        let host = invalid("unknown");
        let failure = || addresses(&host, 1, soon()).unwrap_err().to_string();
        let start = boot_clock();
        assert!(!failure().contains("a moment ago"));
        let cell = LookupCell::of(&host, 1).unwrap();
        assert!(!cell.is_due(start + (LEAST_PAUSE - 1)));
        cell.paused_until.store((start + BELIEVED).0, SeqCst);
        assert!(failure().contains("a moment ago"));
        cell.paused_until.store(0, SeqCst);
        assert!(!failure().contains("a moment ago"));
    }

    #[test]
    fn the_others_wait_for_a_lookup_unless_addresses_are_known() {
        let host = invalid("leased");
        let cell = LookupCell::of(&host, 1).unwrap();
        // The parent of this process lives.
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        cell.asker.store(parent.cast_unsigned(), SeqCst);
        let deadline = soon();
        let error = addresses(&host, 1, deadline).unwrap_err();
        assert!(error.to_string().contains("another worker"), "{error}");
        assert!(boot_clock() >= deadline);
        let address = "127.0.0.1:1".parse().unwrap();
        cell.write(&[address], Timestamp::ZERO);
        assert_eq!(addresses(&host, 1, boot_clock()).unwrap(), [address]);
        assert!(is_due(&host, 1));
        // No process has the greatest possible id.
        cell.asker.store(i32::MAX.cast_unsigned(), SeqCst);
        let start = boot_clock();
        assert_eq!(addresses(&host, 1, start).unwrap(), [address]);
        assert!(
            !cell.is_due(start + (LEAST_PAUSE - 1)),
            "the worker was killed, so this one looked the name up"
        );
    }

    #[test]
    fn one_thread_at_a_time_looks_a_name_up() {
        let cell = LookupCell::of("threads", 1).unwrap();
        let lease = || (cell.lease(), gettid());
        let (leased, thread) = thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            let (end, wait) = mpsc::channel::<()>();
            scope.spawn(move || {
                send.send(lease()).unwrap();
                wait.recv().ok();
            });
            let first = receive.recv().unwrap();
            assert!(!cell.lease(), "a living thread looks the name up");
            drop(end);
            first
        });
        assert!(leased);
        worker::wait_for_end(thread);
        assert!(cell.lease(), "the thread has ended");
    }

    #[test]
    fn an_address_is_not_looked_up() {
        let address: SocketAddr = "[::1]:7".parse().unwrap();
        assert_eq!(addresses("::1", 7, soon()).unwrap(), [address]);
    }
}
