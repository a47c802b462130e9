//! Real servers for integration tests, and faults between a server and its client.
//!
//! Each server is a process that belongs to one test. It runs as an unprivileged user and keeps its
//! sockets in a temporary folder. A server never outlives the test process, even if that process is
//! killed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::new_without_default)]

mod blackhole;
mod certificates;
mod cluster;
mod folder;
mod inconclusive;
mod memcached;
mod places;
mod process;
mod proxy;
mod redis;
mod resp;
mod sentinel;

pub use blackhole::Blackhole;
pub use certificates::Authority;
pub use cluster::{Cluster, PRIMARIES};
pub use inconclusive::inconclusive;
pub use memcached::Memcached;
pub use places::take_places;
pub use process::Process;
pub use proxy::{Mode, Proxy};
pub use redis::{Redis, major_version};
pub use sentinel::{PRIMARY, Sentinel};

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time after which a server that does not react counts as hung. It is long, because other
/// programs may use all processors.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a port of the loopback interface that nothing listens on at this moment. Linux does not
/// give these ports to clients, and each call in this process returns another port.
fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    loop {
        let call = CALLS.fetch_add(1, Relaxed);
        // 97 has no common divisor with 22,000, so processes begin at ports that are far apart.
        let port = 10_000 + (std::process::id().wrapping_mul(97).wrapping_add(call)) % 22_000;
        let port = u16::try_from(port).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Polls `condition`. Reports whether the condition became true within a minute. No test may depend
/// on a shorter time, because it would fail on a slow machine.
pub fn eventually(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
