//! Real servers for integration tests, and the faults between them and a client.
//!
//! Each server is a process that belongs to one test. It runs as an unprivileged user and keeps its
//! sockets in a temporary folder. No server outlives the test process, however that process ends.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::new_without_default
)]

mod blackhole;
mod certificates;
mod folder;
mod memcached;
mod process;
mod proxy;
mod redis;
mod resp;

pub use blackhole::Blackhole;
pub use certificates::Authority;
pub use memcached::Memcached;
pub use proxy::{Mode, Proxy, Upstream};
pub use redis::Redis;

use std::time::{Duration, Instant};

/// Until a server must have done what it was asked to. Five seconds on a machine at rest; here
/// other tests may have both processors.
const PATIENCE: Duration = Duration::from_secs(5);

/// A port of the loopback interface that nothing listens on at this moment.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Polls until `condition` holds; whether it did within [`PATIENCE`].
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
