//! Real servers for integration tests, and faults between a server and its client.
//!
//! Each server is a process that belongs to one test. It runs as an unprivileged user and keeps its
//! sockets in a temporary folder. A server never outlives the test process, even if that process is
//! killed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::new_without_default
)]

mod blackhole;
mod certificates;
mod cluster;
mod folder;
mod memcached;
mod process;
mod proxy;
mod redis;
mod resp;
mod sentinel;

pub use blackhole::Blackhole;
pub use certificates::Authority;
pub use cluster::{Cluster, PRIMARIES};
pub use memcached::Memcached;
pub use proxy::{Mode, Proxy, Upstream};
pub use redis::Redis;
pub use sentinel::{PRIMARY, Sentinel};

use std::time::{Duration, Instant};

/// The time within which a server must react. It is long, because other tests may use all
/// processors.
const PATIENCE: Duration = Duration::from_secs(5);

/// Returns a port of the loopback interface that nothing listens on at this moment.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Polls `condition`. Reports whether the condition became true within [`PATIENCE`].
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
